// The whole controller in a simulated world: a pool of ten ports, and rooms that come and go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "room_book.h"
#include "scenario.h"
#include "sim/world/gremlin.h"

namespace berth::scenario {
namespace {

using wire::Object;
using wire::Value;
using world::World;
using world::WorldOptions;

const std::string kPods = "/api/v1/namespaces/games/pods";
const std::string kEvents = "/api/v1/namespaces/games/events";
const std::string kWebhooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
constexpr std::size_t kPoolPorts = 10;
// Longer than an unbound claim lives, and than any pause of a reflector.
constexpr Duration kQuiet = std::chrono::seconds{100};
constexpr Duration kUserRetry = std::chrono::seconds{1};
constexpr int kUserPatience = 60;

constexpr std::string_view kNamespace = R"(
apiVersion: v1
kind: Namespace
metadata:
  name: games
  labels:
    bcs-ingress-controller-inject: "true"
)";

constexpr std::string_view kPool = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata:
  name: rooms
  namespace: games
spec:
  poolItems:
    - itemName: item1
      loadBalancerIDs: ["edge:demo"]
      protocol: TCP
      startPort: 30000
      endPort: 30010
)";

Value room(const std::string& name, int ports) {
  std::string wanted;
  wire::Array declared;
  for (int i = 0; i < ports; ++i) {
    wanted += fmt::format("{}rooms TCP {}", i > 0 ? ";" : "", 8000 + i);
    declared.push_back(Object{{"containerPort", 8000 + i}});
  }
  return Object{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", Object{{"namespace", "games"},
                          {"name", name},
                          {"annotations", Object{{api::kPortPoolsAnnotation, "true"},
                                                 {api::kPortsAnnotation, wanted}}}}},
      {"spec",
       Object{{"containers",
               wire::Array{Object{{"name", "room"}, {"image", "room:1"}, {"ports", declared}}}}}}};
}

// A person with kubectl, on a task of the world or outside of all.
class User {
 public:
  explicit User(World& world) : world_(world) {}

  // Tries until it works, as people do. False: patience was not enough.
  bool create(const std::string& name, int ports, int patience = kUserPatience) {
    for (int i = 0; i < patience && !world_.kernel().failure(); ++i) {
      const Result<Value> made = world_.cluster().ask("POST", kPods, room(name, ports));
      if (made || made.error().code == Code::already_exists) return true;
      last_refusal_ = made.error().to_string();
      (void)world_.cluster().pause(kUserRetry, {});
    }
    return false;
  }
  // Returns when it is gone.
  void remove(const std::string& name) {
    for (int i = 0; i < kUserPatience && !world_.kernel().failure(); ++i) {
      const Result<Value> removed = world_.cluster().ask("DELETE", kPods + "/" + name);
      if (!removed && removed.error().code == Code::not_found) return;
      (void)world_.cluster().pause(kUserRetry, {});
    }
  }
  // The room's program has ended by itself.
  void finish(const std::string& name) {
    const Result<Value> pod = world_.cluster().ask("GET", kPods + "/" + name);
    if (!pod || wire::string_at(*pod, "/status/phase") != "Running") return;
    (void)world_.cluster().ask("PATCH", kPods + "/" + name + "/status",
                               Object{{"status", Object{{"phase", "Succeeded"}}}});
  }
  const std::string& last_refusal() const { return last_refusal_; }

 private:
  World& world_;
  std::string last_refusal_;
};

Result<> run_until(World& world, RoomBook& book, const std::function<bool()>& done) {
  return world.cluster().run_until([&] {
    book.check_leaders();
    return done();
  });
}

Result<> settle(World& world, RoomBook& book) {
  world.cluster().desk().note_activity();
  const Result<> settled = run_until(world, book, [&] {
    return world.kernel().now() - world.cluster().desk().last_activity() >= kQuiet;
  });
  if (!settled) return settled;
  return book.check_settled();
}

// Berth is installed, and the pool is there.
Result<> open_house(World& world, RoomBook& book) {
  const auto installed = [&world] {
    const auto hooks = world.cluster().list(kWebhooks);
    return hooks && !hooks->empty();
  };
  const auto open = world.cluster().play("installation", [&world, installed](std::stop_token stop) {
    while (!installed() && world.cluster().pause(kUserRetry, stop)) {
    }
    for (const std::string_view yaml : {kNamespace, kPool}) {
      for (;;) {
        const Result<> made = world.cluster().create_all(yaml);
        if (made || made.error().code == Code::already_exists) break;
        if (!world.cluster().pause(kUserRetry, stop)) return;
      }
    }
  });
  return run_until(world, book, [&] { return *open; });
}

// Every port that is not in use can be had, and not one more. With `patience` 1 at once; a crash on
// the way costs an attempt, and a claim until it has run out.
Result<> fill_pool(World& world, RoomBook& book, int patience) {
  User user(world);
  const std::size_t left = kPoolPorts - book.ports_in_use();
  for (std::size_t i = 0; i < left; ++i) {
    if (!user.create(fmt::format("filler-{}", i), 1, patience))
      return fail(Code::internal, "{} of {} free ports can be had: {}", i, left,
                  user.last_refusal());
  }
  for (int i = 0; i < patience; ++i) {
    if (user.create("one-too-many", 1, 1))
      return fail(Code::internal, "the pool gave more ports than it has");
    if (user.last_refusal().find("10 of 10 in use") != std::string::npos)
      return settle(world, book);
  }
  return fail(Code::internal, "the refusal does not say why: {}", user.last_refusal());
}

Result<sim::RunReport> report(World& world) {
  if (world.kernel().failure()) return fail(*world.kernel().failure());
  return world.kernel().report();
}

// What `kubectl describe` shows of it; null when nothing was said.
wire::Value event_on(World& world, std::string_view name) {
  const auto events = world.cluster().list(kEvents);
  if (!events) return nullptr;
  const auto found = std::ranges::find_if(*events, [&](const wire::Value& event) {
    return wire::string_at(event, "/involvedObject/name") == name;
  });
  return found == events->end() ? wire::Value() : *found;
}

TEST(FirstRoom, APodIsToldItsPortAndThePortLeadsToIt) {
  World world(1, {});
  RoomBook book(world);
  ASSERT_TRUE(open_house(world, book));
  User user(world);
  ASSERT_TRUE(user.create("room-0", 1)) << user.last_refusal();
  const Result<> settled = settle(world, book);
  ASSERT_TRUE(settled) << settled.error().to_string();

  const auto pod = world.cluster().ask("GET", kPods + "/room-0");
  ASSERT_TRUE(pod);
  const auto annotation = [&](std::string_view key) {
    return std::string(
        wire::string_at(*pod, "/metadata/annotations/" + wire::escape_pointer_step(key)));
  };
  EXPECT_EQ(annotation(api::kBindStatusAnnotation), "Ready");
  const auto bindings = api::decode_pool_bindings(annotation(api::kPoolBindingsAnnotation));
  ASSERT_TRUE(bindings);
  ASSERT_EQ(bindings->size(), 1u);
  const auto listener =
      world.provider().find({model::Provider::edge, "", "demo"}, model::Protocol::tcp,
                            static_cast<model::Port>(bindings->front().start_port));
  ASSERT_TRUE(listener);
  ASSERT_EQ(listener->spec.targets.size(), 1u);
  const model::Target& target = listener->spec.targets.front().target;
  EXPECT_EQ(target.ip, wire::string_at(*pod, "/status/podIP"));
  EXPECT_EQ(target.port, 8000);

  const auto told = event_on(world, "room-0");
  EXPECT_EQ(wire::string_at(told, "/reason"), "Ready");
  EXPECT_THAT(std::string(wire::string_at(told, "/message")),
              testing::HasSubstr(fmt::format(":{}", bindings->front().start_port)));

  const Result<> filled = fill_pool(world, book, 1);
  EXPECT_TRUE(filled) << filled.error().to_string();
}

// Two rooms come, one of them goes and comes again under its name.
Result<> visit(World& world, RoomBook& book) {
  if (Result<> open = open_house(world, book); !open) return open;
  const auto done = world.cluster().play("user", [&world](std::stop_token) {
    User user(world);
    user.create("room-0", 1);
    user.create("room-1", 2);
    (void)world.cluster().pause(std::chrono::seconds{5}, {});
    user.remove("room-0");
    user.create("room-0", 1);
  });
  if (Result<> ran = run_until(world, book, [&] { return *done; }); !ran) return ran;
  return fill_pool(world, book, 2 * kUserPatience);
}

Result<sim::RunReport> run_crashed(const sim::CrashPlan& plan) {
  WorldOptions options;
  options.cluster.kernel.crash = plan;
  options.cluster.kernel.max_latency = std::chrono::milliseconds{10};
  options.cluster.link.max_watch_delay = std::chrono::milliseconds{50};
  World world(7, options);
  RoomBook book(world);
  if (Result<> done = visit(world, book); !done) return pass(done);
  return report(world);
}

TEST(FirstRoom, ACrashAtAnyWriteIsMadeGood) {
  const auto swept = sim::crash_everywhere("first room", run_crashed);
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_GE(swept->writes, 50u);
}

// Rooms come, go, end and come again.
void live(World& world, Random random, const std::string& prefix, const std::stop_token& stop) {
  User user(world);
  const std::uint64_t deeds = 3 + random.below(6);
  for (std::uint64_t i = 0; i < deeds; ++i) {
    if (!world.cluster().pause(up_to(random, std::chrono::seconds{6}), stop)) return;
    const std::string name = fmt::format("{}-{}", prefix, random.below(3));
    const int ports = 1 + static_cast<int>(random.below(2));
    switch (random.below(5)) {
      case 0: user.remove(name); break;
      case 1:
        user.remove(name);
        user.create(name, ports, 20);
        break;
      case 2: user.finish(name); break;
      default: user.create(name, ports, 20); break;
    }
  }
}

std::shared_ptr<const bool> roll_out(World& world, Random random) {
  return world.cluster().play("roll-out", [&world, random](std::stop_token stop) mutable {
    for (std::size_t i = 0; i < 2; ++i) {
      if (world.cluster().pause(up_to(random, std::chrono::seconds{15}), stop)) world.restart(i);
    }
  });
}

WorldOptions troubled_world(Random& random) {
  WorldOptions options;
  options.replicas = 2;
  sim::KernelOptions& kernel = options.cluster.kernel;
  kernel.min_latency = std::chrono::milliseconds{1};
  kernel.max_latency = up_to(random, std::chrono::milliseconds{500});
  kernel.crash =
      sim::CrashRandomly{.probability = random.chance(0.5) ? 0.02 : 0.0, .max_crashes = 4};
  kernel.late_write_chance = 0.3;
  world::LinkOptions& link = options.cluster.link;
  link.max_watch_delay = up_to(random, std::chrono::seconds{4});
  link.lost_answer_chance = random.chance(0.5) ? 0.03 : 0;
  link.cut_stream_chance = random.chance(0.5) ? 0.05 : 0;
  options.kubelet.max_start = up_to(random, std::chrono::seconds{10});
  options.kubelet.max_end = up_to(random, std::chrono::seconds{10});
  return options;
}

using Plant = std::function<void(WorldOptions&)>;

Result<> live_through_trouble(World& world, RoomBook& book, Random& random) {
  world::Gremlin gremlin(world.cluster(),
                         {.pause = std::chrono::seconds{1} + up_to(random, std::chrono::seconds{4}),
                          .max_repeats = 2});
  if (Result<> open = open_house(world, book); !open) return open;
  std::vector<std::shared_ptr<const bool>> lives;
  for (const char* prefix : {"room", "hall"}) {
    lives.push_back(world.cluster().play(
        prefix, [&world, prefix, mine = random.fork()](const std::stop_token& stop) {
          live(world, mine, prefix, stop);
        }));
  }
  if (random.chance(0.3)) lives.push_back(roll_out(world, random.fork()));
  if (Result<> ran = run_until(world, book, [&] { return all_through(lives); }); !ran) return ran;
  gremlin.stop();
  world.cluster().link().cut_stream_chance = 0;
  world.cluster().link().lost_answer_chance = 0;
  world.kernel().set_crash_plan(sim::NoCrash{});
  return settle(world, book);
}

Result<sim::RunReport> run_troubled(std::uint64_t seed, const Plant& plant,
                                    std::uint64_t* ready = nullptr) {
  Random random(seed);
  WorldOptions options = troubled_world(random);
  if (plant) plant(options);
  World world(seed, options);
  RoomBook book(world);
  if (Result<> lived = live_through_trouble(world, book, random); !lived) return pass(lived);
  if (random.chance(0.3)) {
    if (Result<> filled = fill_pool(world, book, 1); !filled) return pass(filled);
  }
  if (ready) *ready += book.ever_ready();
  return report(world);
}

TEST(FirstRoom, KeepsItsPromisesHoweverTroubled) {
  std::uint64_t ready = 0;
  const auto swept = sim::sweep(sweep_for("rooms in trouble", std::chrono::seconds{20}),
                                [&](std::uint64_t seed) { return run_troubled(seed, {}, &ready); });
  ASSERT_TRUE(swept) << swept.error().message;
  fmt::print("rooms in trouble: {} Pods were told Ready\n", ready);
  EXPECT_GE(ready, swept->seeds);
}

// Planted defects: each makes one promise of the parts below untrue, and must be found.

using Rewrite = std::function<std::optional<net::Request>(const net::Request&)>;

// Changes requests on their way to the API server; those for which there is none are not sent and
// answered with the object that was asked about.
class MeddlingNetwork final : public net::Transport {
 public:
  MeddlingNetwork(net::Transport& inner, Rewrite rewrite)
      : inner_(inner), rewrite_(std::move(rewrite)) {}

  Result<net::Response> call(const Context& context, const net::Request& request) override {
    if (const auto changed = rewrite_(request)) return inner_.call(context, *changed);
    net::Request look{.url = request.url.substr(0, request.url.find('?')),
                      .headers = {{"Accept", "application/json"}}};
    return inner_.call(context, look);
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    return inner_.open(context, request);
  }

 private:
  net::Transport& inner_;
  const Rewrite rewrite_;
};

Plant meddle(const Rewrite& rewrite) {
  return [rewrite](WorldOptions& options) {
    options.around_transport = [rewrite](net::Transport& inner) {
      return std::make_unique<MeddlingNetwork>(inner, rewrite);
    };
  };
}

bool is_slot_patch(const net::Request& request) {
  return request.method == "PATCH" && request.url.find("/listeners/") != std::string::npos;
}

// The operations of a JSON Patch without its tests.
net::Request without_tests(net::Request request) {
  const Result<Value> patch = wire::parse_json(request.body);
  if (!patch || !patch->is_array()) return request;
  wire::Array kept;
  for (const Value& operation : patch->get_array()) {
    if (wire::string_at(operation, "/op") != "test") kept.push_back(operation);
  }
  request.body = wire::to_json(kept);
  return request;
}

// What was said about it, once it was found.
std::string find_planted(const std::string& name, const Plant& plant) {
  const auto swept = sim::sweep({.name = name, .count = 60, .repeat_every = 0},
                                [&](std::uint64_t seed) { return run_troubled(seed, plant); });
  return swept ? "" : swept.error().cause->message;
}

using testing::AnyOf;
using testing::HasSubstr;

TEST(FirstRoomPlanted, AClaimWithoutItsTest) {
  EXPECT_THAT(find_planted("claims without tests", meddle(Rewrite([](const net::Request& request) {
                             return is_slot_patch(request) ? without_tests(request) : request;
                           }))),
              AnyOf(HasSubstr("belongs to"), HasSubstr("does not lead to"), HasSubstr("claim")));
}

TEST(FirstRoomPlanted, AnAdmissionWithoutAClaim) {
  EXPECT_THAT(find_planted("no claims", meddle(Rewrite([](const net::Request& request) {
                             const bool claims =
                                 is_slot_patch(request) &&
                                 request.body.find("deletionTimestamp") != std::string::npos;
                             return claims ? std::nullopt : std::optional(request);
                           }))),
              AnyOf(HasSubstr("belongs to"), HasSubstr("claims"), HasSubstr("never told Ready")));
}

// Each replica gets a lease of its own.
net::Request with_own_lease(net::Request request, int replica) {
  const auto rename = [&](std::string& text, std::string_view old) {
    const std::size_t at = text.find(old);
    if (at != std::string::npos) text.insert(at + old.size() - 1, std::to_string(replica));
  };
  if (request.url.find("/leases") == std::string::npos) return request;
  if (request.url.ends_with("/leases/berth")) request.url += std::to_string(replica);
  rename(request.body, R"("name":"berth")");
  return request;
}

TEST(FirstRoomPlanted, ALeaseThatEverybodyHas) {
  const Plant plant = [](WorldOptions& options) {
    options.around_transport = [next = std::make_shared<int>(0)](net::Transport& inner) {
      return std::make_unique<MeddlingNetwork>(inner,
                                               [mine = (*next)++](const net::Request& request) {
                                                 return with_own_lease(request, mine);
                                               });
    };
  };
  EXPECT_THAT(find_planted("a lease each", plant), HasSubstr("replicas lead"));
}

}  // namespace
}  // namespace berth::scenario
