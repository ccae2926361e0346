// Proof that the proof works: each test plants one defect, by a meddler between the controller and
// its surroundings, and the invariants of the scenarios must find it.
//
// A defect is looked for on a tour of the house where nothing else goes wrong, then in random lives
// full of trouble.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "fence_watch.h"
#include "meddling.h"

namespace berth::scenario {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using wire::Object;
using wire::Value;
using world::World;
using world::WorldOptions;

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kTours = 2;
constexpr std::uint64_t kLives = 10;

// A manifest that somebody took from a Pod that runs, with all that we wrote into it.
Value copy_of(const Value& pod, const std::string& name) {
  Object metadata{{"namespace", "games"}, {"name", name}};
  for (const char* part : {"labels", "annotations"}) {
    if (const Value* found = wire::find(pod, std::string("/metadata/") + part))
      metadata[part] = *found;
  }
  Value containers = *wire::find(pod, "/spec/containers");
  return Object{{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", metadata},
                {"spec", Object{{"containers", containers}}}};
}

bool is_ready(World& world, const std::string& name) {
  const auto pod = world.cluster().ask("GET", kPods + "/" + name);
  const std::string status =
      "/metadata/annotations/" + wire::escape_pointer_step(api::kBindStatusAnnotation);
  return pod && wire::string_at(*pod, status) == "Ready";
}

// Everything that people do with a house that is in order. The last word is an error that no
// invariant sees.
void tour(World& world, std::string& complaint) {
  User user(world);
  for (const std::size_t kind : {5u, 2u, 3u, 4u}) {
    if (!user.create(fmt::format("room-{}", kind), kind_of(kind), 10)) return;
  }
  // Created again while it is there: refused by the server, after us.
  (void)user.create("room-5", kind_of(5));
  (void)world.cluster().pause(seconds{70}, {});
  if (const auto pod = world.cluster().ask("GET", kPods + "/room-4"))
    (void)world.cluster().ask("POST", kPods, copy_of(*pod, "copied-4"));
  user.remove("room-2");
  (void)user.create("room-0", kind_of(2));
  user.remove("room-5");
  (void)user.create("room-5", kind_of(5));
  // All of the pool `rooms` but one port.
  for (int i = 0; i < 8; ++i)
    if (!user.create(fmt::format("full-{}", i), kind_of(0), 1)) break;
  (void)world.cluster().pause(seconds{10}, {});
  // Whoever comes next has to wait for its port.
  user.remove("full-0");
  (void)user.create("next", kind_of(0), 40);
  (void)world.cluster().pause(seconds{10}, {});
  const bool was_ready = is_ready(world, "next");
  user.remove("next");
  (void)world.cluster().pause(seconds{30}, {});
  // One port is left, and it is not enough.
  if (user.create("needs-two", kind_of(1), 1) || !was_ready) return;
  if (!user.create("needs-one", kind_of(0), 1))
    complaint = "what a refused Pod had got was not given back: " + user.last_refusal();
}

Result<sim::RunReport> run_tour(std::uint64_t seed, const Plant& plant) {
  WorldOptions options;
  options.replicas = 2;
  options.cluster.kernel.min_latency = milliseconds{1};
  options.cluster.kernel.max_latency = milliseconds{20};
  options.cluster.link.max_watch_delay = milliseconds{300};
  if (plant) plant(options);
  PoolHouse house(seed, std::move(options));
  if (Result<> open = house.open(); !open) return pass(open);
  const auto complaint = std::make_shared<std::string>();
  const auto done = house.cluster().play(
      "visitor", [&world = house.world(), complaint](std::stop_token) { tour(world, *complaint); });
  if (Result<> ran = house.run_until([&] { return *done; }); !ran) return pass(ran);
  if (!complaint->empty()) return fail(Code::internal, "{}", *complaint);
  if (Result<> settled = house.settle(); !settled) return pass(settled);
  if (Result<> closed = house.close(); !closed) return pass(closed);
  return house.report();
}

// What was said about it, once it was found.
std::string find_planted(const std::string& name, const Plant& plant) {
  const auto toured = sim::sweep({.name = name + ", on a tour", .count = kTours, .repeat_every = 0},
                                 [&](std::uint64_t seed) { return run_tour(seed, plant); });
  if (!toured) return toured.error().cause->message;
  const auto lived = sim::sweep({.name = name, .count = kLives, .repeat_every = 0},
                                [&](std::uint64_t seed) { return live_in_trouble(seed, plant); });
  return lived ? "" : lived.error().cause->message;
}

bool is_patch_of(const net::Request& request, std::string_view what) {
  return request.method == "PATCH" && request.url.find(what) != std::string::npos;
}

// Lets `change` work on each claim that is written; an empty text frees.
Plant with_claims(const std::function<std::string(const std::string& claim)>& change) {
  return meddle([change](const net::Request& request) {
    return std::optional(with_operations(request, "listeners", [&](wire::Array& operations) {
      for (Value& operation : operations) {
        const std::string_view path = wire::string_at(operation, "/path");
        if (wire::string_at(operation, "/op") == "test" || !path.ends_with("berth.dev~1claim"))
          continue;
        operation.as_object()["value"] = change(std::string(wire::string_at(operation, "/value")));
      }
    }));
  });
}

// The body of a creation, changed.
Plant with_created(std::string_view what, const std::function<void(Object& object)>& change) {
  return meddle([what = std::string(what), change](net::Request request) {
    if (request.method != "POST" || request.url.find(what) == std::string::npos)
      return std::optional(request);
    Result<Value> object = wire::parse_json(request.body);
    change(object->as_object());
    request.body = wire::to_json(*object);
    return std::optional(request);
  });
}

// The house itself has no defect that the tour would take for a planted one.
TEST(Planted, NothingIsFoundWhereNothingIsPlanted) {
  const auto toured = sim::sweep({.name = "a tour", .count = kTours, .repeat_every = 0},
                                 [&](std::uint64_t seed) { return run_tour(seed, {}); });
  ASSERT_TRUE(toured) << toured.error().message;
}

// It asked whether it leads, and what it was allowed then it sends much later.
class SlowSender final : public net::Transport {
 public:
  explicit SlowSender(net::Transport& inner) : inner_(inner) {}
  Result<net::Response> call(const Context& context, const net::Request& request) override {
    if (is_patch_of(request, "/pods/")) (void)sleep_for(context.tasks, seconds{12}, {});
    return inner_.call(context, request);
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    return inner_.open(context, request);
  }

 private:
  net::Transport& inner_;
};

TEST(Planted, AWriteThatIsSentLongAfterItWasAllowed) {
  FenceWatch watch;
  (void)live_with_lost_leases(1, watch, [](WorldOptions& options) {
    options.around_transport = [](net::Transport& inner) {
      return std::make_unique<SlowSender>(inner);
    };
  });
  EXPECT_THAT(watch.late(), testing::Contains(testing::StartsWith("PATCH pods")));
}

TEST(Planted, AClaimWithoutItsTest) {
  const Plant plant = meddle([](const net::Request& request) {
    return std::optional(with_operations(request, "listeners", [](wire::Array& operations) {
      wire::Array kept;
      for (const Value& operation : operations)
        if (wire::string_at(operation, "/op") != "test") kept.push_back(operation);
      operations = std::move(kept);
    }));
  });
  EXPECT_THAT(find_planted("claims without tests", plant),
              AnyOf(HasSubstr("belongs to"), HasSubstr("claim"), HasSubstr("does not lead"),
                    HasSubstr("freed")));
}

TEST(Planted, AnAdmissionWithoutAClaim) {
  const Plant plant = meddle([](const net::Request& request) {
    const bool claims = is_patch_of(request, "/listeners/") &&
                        request.body.find("deletionTimestamp") != std::string::npos;
    return claims ? std::nullopt : std::optional(request);
  });
  EXPECT_THAT(find_planted("no claims", plant),
              AnyOf(HasSubstr("belongs to"), HasSubstr("and was given")));
}

TEST(Planted, AFreeBeforeTheLoadBalancerConfirmed) {
  const Plant plant = with_claims([](const std::string& claim) {
    return claim.find(R"("state":"Draining")") == std::string::npos ? claim : std::string();
  });
  EXPECT_THAT(find_planted("freed at once", plant),
              AnyOf(HasSubstr("still leads to"), HasSubstr("went from Bound to Free")));
}

TEST(Planted, AQuarantineThatIsSkipped) {
  const Plant plant = with_claims([](const std::string& claim) {
    return claim.find(R"("state":"Quarantined")") == std::string::npos ? claim : std::string();
  });
  EXPECT_THAT(find_planted("no quarantine", plant), HasSubstr(" s after "));
}

TEST(Planted, AReleaseThatIgnoresTheKeepWindow) {
  const Plant plant = with_claims([](const std::string& claim) {
    Result<Value> json = wire::parse_json(claim);
    if (!json || !json->is_object()) return claim;
    json->get_object().erase("keep");
    return wire::to_json(*json);
  });
  EXPECT_THAT(find_planted("nothing kept", plant), HasSubstr("and was given"));
}

TEST(Planted, AListenerWithoutItsFinalizer) {
  const Plant plant = with_created(
      "/listeners", [](Object& listener) { listener["metadata"].as_object().erase("finalizers"); });
  EXPECT_THAT(find_planted("no finalizers", plant), HasSubstr("its cloud listener is not"));
}

TEST(Planted, AGrantThatIsNotWritten) {
  const Plant plant = meddle([](net::Request request) -> std::optional<net::Request> {
    if (request.url.find("/loadbalancers") == std::string::npos || request.method == "GET")
      return request;
    if (is_patch_of(request, "/loadbalancers/") && request.url.find("/status") == std::string::npos)
      return std::nullopt;
    if (request.method == "POST") {
      Result<Value> object = wire::parse_json(request.body);
      object->as_object()["spec"].as_object().erase("grants");
      request.body = wire::to_json(*object);
    }
    return request;
  });
  EXPECT_THAT(find_planted("no grants", plant), HasSubstr("outside of a grant"));
}

TEST(Planted, AGrantThatIsGivenTwice) {
  const Plant plant = meddle([](net::Request request) {
    if (!is_patch_of(request, "/loadbalancers/")) return std::optional(request);
    Result<Value> patch = wire::parse_json(request.body);
    for (Value& operation : patch->as_array()) {
      if (wire::string_at(operation, "/op") != "add" ||
          wire::string_at(operation, "/path") != "/spec/grants")
        continue;
      wire::Array& grants = operation.as_object()["value"].as_array();
      Object again = grants.front().as_object();
      again["item"] = grants.back().as_object()["item"];
      if (grants.size() > 1) grants.back() = again;
    }
    request.body = wire::to_json(*patch);
    return std::optional(request);
  });
  EXPECT_THAT(find_planted("a grant given twice", plant), HasSubstr("grants that overlap"));
}

TEST(Planted, AMissedDrainOfThePeer) {
  const Plant plant = meddle_with_driver({.changes = [](const auto& lb, lb::TargetChange& change) {
    if (lb.id == "west") change.remove.clear();
  }});
  EXPECT_THAT(find_planted("peer not drained", plant),
              AnyOf(HasSubstr("leads to"), HasSubstr("does not lead"), HasSubstr("leaked"),
                    HasSubstr("applied")));
}

TEST(Planted, ADriverThatSaysYesAndDoesNothing) {
  const Plant plant = meddle_with_driver(
      {.changes = [](const auto&, lb::TargetChange& change) { change.add.clear(); }});
  EXPECT_THAT(find_planted("targets not added", plant),
              AnyOf(HasSubstr("does not lead"), HasSubstr("never"), HasSubstr("applied")));
}

TEST(Planted, ADriverThatKeepsTargets) {
  const Plant plant = meddle_with_driver(
      {.changes = [](const auto&, lb::TargetChange& change) { change.remove.clear(); }});
  EXPECT_THAT(find_planted("targets kept", plant),
              AnyOf(HasSubstr("leads to"), HasSubstr("does not lead"), HasSubstr("leaked"),
                    HasSubstr("applied")));
}

TEST(Planted, ASweepThatDoesNotAskTheServer) {
  const Plant unasked = meddle([](net::Request request) {
    const bool lists = request.url.find("/pods?") != std::string::npos &&
                       request.url.find("claim-token") != std::string::npos;
    if (lists) request.url += "-of-nobody";
    return std::optional(request);
  });
  const Plant plant = [&](WorldOptions& options) {
    unasked(options);
    // Pods wait for their address longer than a claim lives.
    options.kubelet.max_start = seconds{400};
  };
  EXPECT_THAT(find_planted("pods not asked for", plant),
              AnyOf(HasSubstr("belongs to"), HasSubstr("claim"), HasSubstr("never told")));
}

TEST(Planted, ATokenOfACopiedManifestThatIsHonoured) {
  const Plant plant = [](WorldOptions& options) {
    options.answer_webhook = [](const std::string& url,
                                const std::string& body) -> std::optional<net::Reply> {
      const Result<Value> review = wire::parse_json(body);
      const std::string token =
          "/request/object/metadata/labels/" + wire::escape_pointer_step(ledger::kTokenLabel);
      if (!review || wire::string_at(*review, token).empty() ||
          wire::string_at(*review, "/request/resource/resource") != "pods" ||
          url.find("quota") != std::string::npos)
        return std::nullopt;
      const Object response{{"uid", wire::string_at(*review, "/request/uid")}, {"allowed", true}};
      net::Reply reply{.status = 200,
                       .body = wire::to_json(Object{{"apiVersion", "admission.k8s.io/v1"},
                                                    {"kind", "AdmissionReview"},
                                                    {"response", response}})};
      reply.headers.set("Content-Type", "application/json");
      return reply;
    };
  };
  EXPECT_THAT(find_planted("tokens honoured", plant), HasSubstr("belongs to"));
}

TEST(Planted, AnAdmissionThatGivesNothingBack) {
  const Plant plant = meddle([](const net::Request& request) {
    const bool undoes =
        is_patch_of(request, "/listeners/") &&
        request.body.find("deletionTimestamp") != std::string::npos &&
        request.body.find(R"(berth.dev~1claim","value":""})") > request.body.find(R"("op":"add")");
    const bool frees = undoes && request.body.ends_with(R"("value":""}])");
    return frees ? std::nullopt : std::optional(request);
  });
  EXPECT_THAT(find_planted("nothing given back", plant), HasSubstr("not given back"));
}

TEST(Planted, ALeaseThatEverybodyHas) {
  const Plant plant = meddle_with_each([](net::Request request, int replica) {
    if (request.url.find("/leases") == std::string::npos) return request;
    const std::string name = R"("name":"berth")";
    const std::size_t query = std::min(request.url.find('?'), request.url.size());
    if (request.url.substr(0, query).ends_with("/leases/berth"))
      request.url.insert(query, std::to_string(replica));
    const std::size_t at = request.body.find(name);
    if (at != std::string::npos) request.body.insert(at + name.size() - 1, std::to_string(replica));
    return request;
  });
  EXPECT_THAT(find_planted("a lease each", plant), HasSubstr("replicas lead"));
}

}  // namespace
}  // namespace berth::scenario
