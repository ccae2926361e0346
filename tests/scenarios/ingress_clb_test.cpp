// Ingresses on Tencent's load balancers: every call of the cloud is where a process dies, and
// random lives in which the cloud and the API server stumble, people change their minds, hands
// change listeners, and processes die. In the end the cloud has what is written, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "clb_trouble.h"
#include "ingress_house.h"
#include "sim/world/gremlin.h"

namespace berth::scenario {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using wire::Value;
using world::WorldOptions;

// What hands did is found by then.
constexpr Duration kLongerThanAnAudit = 12min;

const std::string kServices =
    "services: [{serviceName: web, servicePort: 8080, isDirectConnect: true}]";

// What can change while a listener and its rules stay.
struct Looks {
  int session = 0;  // seconds
  std::string certificate = "cert-1";
};
std::string certificate(const Looks& looks) {
  return fmt::format("certificate: {{mode: UNIDIRECTIONAL, certID: {}}}", looks.certificate);
}
std::string plain(int port, const std::string& protocol, const Looks& looks = {}) {
  return fmt::format("{{port: {}, protocol: {}, listenerAttribute: {{sessionTime: {}}}, {}}}", port,
                     protocol, looks.session, kServices);
}
// "domain path"
using Routes = std::vector<std::pair<std::string, std::string>>;
std::string routes(const Routes& wanted, const Looks& looks, const std::string& more = {}) {
  std::string list;
  for (const auto& [domain, path] : wanted)
    list += fmt::format("{}{{domain: {}, path: {}, listenerAttribute: {{sessionTime: {}}}, {}{}}}",
                        list.empty() ? "" : ", ", domain, path, looks.session, more, kServices);
  return fmt::format("layer7Routes: [{}]", list);
}
// HTTPS with a certificate, or with one for each domain.
std::string site(int port, const Routes& wanted, const Looks& looks = {}) {
  return fmt::format("{{port: {}, protocol: HTTPS, {}, {}}}", port, certificate(looks),
                     routes(wanted, looks));
}
std::string named_site(int port, const Routes& wanted, const Looks& looks = {}) {
  return fmt::format("{{port: {}, protocol: HTTPS, listenerAttribute: {{sniSwitch: 1}}, {}}}", port,
                     routes(wanted, looks, certificate(looks) + ", "));
}
std::string mapping(int start, int end_index) {
  return fmt::format(
      "{{startPort: {}, protocol: TCP, startIndex: 0, endIndex: {}, segmentLength: 2, "
      "workloadKind: StatefulSet, workloadNamespace: games, workloadName: room}}",
      start, end_index);
}
std::string spec(const std::vector<std::string>& rules,
                 const std::vector<std::string>& mappings = {}) {
  return fmt::format("{{rules: [{}], portMappings: [{}]}}", fmt::join(rules, ", "),
                     fmt::join(mappings, ", "));
}

// "10.0.0.1:80 10" of each Pod of the Service that has an address.
std::vector<std::string> web_targets(IngressHouse& house) {
  std::vector<std::string> out;
  const auto pods = house.cluster().list(kIngressPods);
  for (const Value& pod : pods ? *pods : std::vector<Value>{}) {
    const std::string_view ip = wire::string_at(pod, "/status/podIP");
    if (wire::string_at(pod, "/metadata/labels/app") != "web" || ip.empty()) continue;
    const bool ready = wire::to_json(pod).find(R"("status":"True")") != std::string::npos;
    out.push_back(fmt::format("{}:80 {}", ip, ready ? 10 : 0));
  }
  return out;
}

// " cert-1 60s", of a listener or a rule.
std::string looks_of(const wire::Object& certificate, std::int64_t session) {
  const wire::Value* const id = certificate.if_contains("CertId");
  return (id ? " " + std::string(id->get_string()) : "") +
         (session ? fmt::format(" {}s", session) : "");
}

// "443 TCP 60s", "443 TCP 10.0.0.1:80 10", "445 HTTPS cert-1", "445 HTTPS a.example.com/ 60s",
// "445 HTTPS a.example.com/ 10.0.0.1:80 10", "30000-30001 TCP": what the cloud has of ours there,
// sorted.
std::vector<std::string> in_cloud(const ClbCloud& cloud, const std::string& lb) {
  std::vector<std::string> out;
  const auto there = cloud.cloud().load_balancer(lb);
  if (!there) return {"there is no " + lb};
  for (const auto& [id, one] : there->listeners) {
    if (one.name == "somebody-else") continue;
    const std::string ports = one.end_port == 0 ? fmt::format("{}", one.port)
                                                : fmt::format("{}-{}", one.port, one.end_port);
    const std::string listener = fmt::format("{} {}", ports, one.protocol);
    const bool has_rules = sim::tencent::is_layer7(one.protocol);
    out.push_back(listener +
                  looks_of(one.certificate, has_rules ? 0 : one.rules.at(0).session_seconds));
    for (const sim::tencent::Rule& rule : one.rules) {
      const std::string key = has_rules ? fmt::format(" {}{}", rule.domain(), rule.url) : "";
      if (has_rules)
        out.push_back(listener + key + looks_of(rule.certificate, rule.session_seconds));
      for (const sim::tencent::Target& target : rule.targets)
        out.push_back(
            fmt::format("{}{} {}:{} {}", listener, key, target.ip, target.port, target.weight));
    }
  }
  std::ranges::sort(out);
  return out;
}

void add_led(std::vector<std::string>& out, const std::string& listener, const std::string& looks,
             const std::vector<std::string>& targets) {
  out.push_back(listener + looks);
  for (const std::string& one : targets) out.push_back(listener + " " + one);
}

// In the end: TCP 443, HTTPS 445 with two routes, HTTPS 447 by domain, and a segment for room-0.
std::string last_spec() {
  const Looks looks{.session = 60, .certificate = "cert-9"};
  return spec({plain(443, "TCP", looks),
               site(445, {{"a.example.com", "/lobby"}, {"b.example.com", "/"}}, looks),
               named_site(447, {{"c.example.com", "/"}}, looks)},
              {mapping(30000, 1)});
}
std::vector<std::string> last_state(IngressHouse& house) {
  const std::vector<std::string> web = web_targets(house);
  std::vector<std::string> out{"445 HTTPS cert-9", "447 HTTPS"};
  add_led(out, "443 TCP", " 60s", web);
  add_led(out, "445 HTTPS a.example.com/lobby", " 60s", web);
  add_led(out, "445 HTTPS b.example.com/", " 60s", web);
  add_led(out, "447 HTTPS c.example.com/", " cert-9 60s", web);
  add_led(out, "30000-30001 TCP", "", {house.ip_of("room-0") + ":30000 10"});
  std::ranges::sort(out);
  return out;
}
Result<> check_last(IngressHouse& house, const ClbCloud& cloud,
                    const std::vector<std::string>& load_balancers) {
  if (house.text("front", "/status/status") == "gone")
    return fail(Code::internal, "the Ingress is gone");
  for (const std::string& lb : load_balancers) {
    const std::vector<std::string> is = in_cloud(cloud, lb), wanted = last_state(house);
    if (is != wanted)
      return fail(Code::internal, "{} has\n  {}\nand should have\n  {}", lb, fmt::join(is, "\n  "),
                  fmt::join(wanted, "\n  "));
  }
  if (!house.is_ready("front"))
    return fail(Code::internal, "not ready: {}", house.text("front", "/status/message"));
  return {};
}

// Tells of a target that never was a Pod's: addresses are not given twice. Whoever makes a Pod
// notes its address before it goes.
struct Watcher {
  IngressHouse& house;
  std::set<std::string> pods{};
  std::set<std::string> targets{};

  void note(const std::string& pod) {
    std::string ip;
    while ((ip = house.ip_of(pod)).empty() && house.cluster().pause(1s, {})) {
    }
    pods.insert(ip);
  }
  void look() {
    house.world().view().observe([this](const sim::lb::Change& change) {
      if (!change.after) return;
      for (const model::WeightedTarget& one : model::targets_of(change.after->spec))
        targets.insert(one.target.ip);
    });
  }
  Result<> check() const {
    for (const std::string& one : targets)
      if (!pods.contains(one)) return fail(Code::internal, "traffic was led to {}", one);
    return {};
  }
};

// The Ingress goes, and with it all that the cloud has of it.
Result<> close(IngressHouse& house, const ClbCloud& cloud) {
  const auto done = house.cluster().play("end", [&house](std::stop_token) {
    for (int i = 0; i < 60 && house.text("front", "/status/status") != "gone"; ++i) {
      (void)house.cluster().ask("DELETE", kIngresses + "/front");
      (void)house.cluster().pause(2s, {});
    }
  });
  if (Result<> ran = house.cluster().run_until([&] { return *done; }); !ran) return ran;
  if (Result<> settled = house.cluster().settle(kQuiet); !settled) return settled;
  if (!house.listeners().empty()) return fail(Code::internal, "left: {}", house.listeners_text());
  return check_emptied(cloud);
}

WorldOptions on_clb(WorldOptions options, ClbCloud& cloud) {
  options.config.without = {"port-pools", "host-ports"};
  options.config.load_balancers = clb_defaults();
  options.cloud = &cloud;
  return options;
}

struct Story {
  sim::CrashPlan crash = sim::NoCrash{};
  std::optional<sim::tencent::Fault> fault{};
};
struct Told {
  std::vector<std::string> missed{};  // calls that nobody made
  std::uint64_t faults = 0;           // that befell a call
};

Result<sim::RunReport> tell(const Story& what, Told* told = nullptr) {
  const sim::CrashPlan& plan = what.crash;
  ClbCloud cloud;
  furnish(cloud);
  if (what.fault) cloud.cloud().inject(*what.fault);
  if (const auto* at = std::get_if<sim::CrashAt>(&plan))
    cloud.count_calls(ClbCrash{at->write_index, at->side});
  WorldOptions options;
  options.cluster.kernel.max_latency = 10ms;
  options.cluster.link.max_watch_delay = 50ms;
  IngressHouse house(7, on_clb(std::move(options), cloud));
  Watcher watcher{house};
  watcher.look();
  if (Result<> open = house.open(); !open) return pass(open);
  const auto done = house.cluster().play("user", [&](std::stop_token) {
    for (const char* pod : {"a", "room-0"}) {
      house.write(IngressHouse::pod(pod, pod == std::string("a") ? "" : "room"));
      house.say_ready(pod, true);
      watcher.note(pod);
    }
    house.write(IngressHouse::ingress(
        "front",
        spec({plain(443, "TCP"), plain(444, "UDP"),
              site(445, {{"a.example.com", "/"}, {"a.example.com", "/lobby"}}),
              named_site(447, {{"c.example.com", "/"}})},
             {mapping(30000, 2)}),
        "lb-demo"));
    (void)house.cluster().pause(20s, {});
    house.write(IngressHouse::pod("b"));
    house.say_ready("b", true);
    watcher.note("b");
    house.change("front", last_spec());
    (void)house.cluster().ask("DELETE", kIngressPods + "/a");
  });
  if (Result<> ran = house.cluster().run_until([&] { return *done; }); !ran) return pass(ran);
  if (Result<> settled = house.cluster().settle(kQuiet); !settled) return pass(settled);
  if (Result<> fine = check_last(house, cloud, {"lb-demo"}); !fine) return pass(fine);
  if (Result<> closed = close(house, cloud); !closed) return pass(closed);
  if (Result<> fine = check_strangers(cloud); !fine) return pass(fine);
  if (Result<> fine = watcher.check(); !fine) return pass(fine);
  if (house.world().kernel().failure()) return fail(*house.world().kernel().failure());
  sim::RunReport report = house.world().kernel().report();
  if (std::holds_alternative<sim::CrashAt>(plan) && report.crashes == 0)
    return fail(Code::internal, "nobody died");
  report.writes = cloud.calls_counted();
  if (told) *told = {cloud.never_called(all_calls()), count_of(cloud.cloud().faults_taken())};
  return report;
}

TEST(IngressOnClb, CrashesAtEveryCallOfTheCloud) {
  Told calm;
  const auto swept =
      crash_everywhere("Ingresses on CLB, calls of the cloud", [&](const sim::CrashPlan& plan) {
        return tell({.crash = plan}, std::holds_alternative<sim::NoCrash>(plan) ? &calm : nullptr);
      });
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_GE(swept->writes, 30u);
  EXPECT_THAT(calm.missed, ::testing::IsEmpty());
}

TEST(IngressOnClb, LivesThroughEveryFaultOfEveryCall) {
  for (const std::string_view action : all_calls()) {
    for (const sim::tencent::FaultKind kind : faults_of(action)) {
      SCOPED_TRACE(fmt::format("{} of {}", to_string(kind), action));
      Told told;
      const auto ran =
          tell({.fault = {{.kind = kind, .action = std::string(action), .duration = 60s}}}, &told);
      ASSERT_TRUE(ran) << ran.error().message;
      EXPECT_EQ(told.faults, 1u) << "it befell no call";
    }
  }
}

// A page of an Ingress on lb-demo, in place.
Result<> open_with_front(IngressHouse& house, const ClbCloud& cloud) {
  if (Result<> open = house.open(); !open) return open;
  const auto done = house.cluster().play("user", [&](std::stop_token) {
    for (const char* pod : {"a", "room-0"}) {
      house.write(IngressHouse::pod(pod, pod == std::string("a") ? "" : "room"));
      house.say_ready(pod, true);
    }
    house.write(IngressHouse::ingress("front", last_spec(), "lb-demo"));
  });
  if (Result<> ran = house.cluster().run_until([&] { return *done; }); !ran) return ran;
  if (Result<> settled = house.cluster().settle(kQuiet); !settled) return settled;
  return check_last(house, cloud, {"lb-demo"});
}

TEST(IngressOnClb, OnALoadBalancerThatIsGoneItSaysSoAndIsMadeAnewWhenThatIsBack) {
  ClbCloud cloud;
  cloud.add_load_balancer("lb-demo");
  IngressHouse house(7, on_clb({}, cloud));
  Result<> fine = open_with_front(house, cloud);
  ASSERT_TRUE(fine) << fine.error().message;
  cloud.remove_load_balancer("lb-demo");
  ASSERT_TRUE(house.cluster().run_for(kLongerThanAnAudit));
  EXPECT_FALSE(house.is_ready("front"));
  EXPECT_THAT(house.text("front", "/status/message"), HasSubstr("no such load balancer"));
  cloud.add_load_balancer("lb-demo");
  ASSERT_TRUE(house.cluster().run_for(kLongerThanAnAudit));
  ASSERT_TRUE(house.cluster().settle(kQuiet));
  fine = check_last(house, cloud, {"lb-demo"});
  EXPECT_TRUE(fine) << fine.error().message;
}

TEST(IngressOnClb, OnALoadBalancerThatIsGoneItCanBeDeleted) {
  ClbCloud cloud;
  cloud.add_load_balancer("lb-demo");
  IngressHouse house(7, on_clb({}, cloud));
  const Result<> fine = open_with_front(house, cloud);
  ASSERT_TRUE(fine) << fine.error().message;
  cloud.remove_load_balancer("lb-demo");
  const auto done = house.cluster().play("end", [&house](std::stop_token) {
    (void)house.cluster().ask("DELETE", kIngresses + "/front");
    for (int i = 0; i < 60 && house.text("front", "/status/status") != "gone"; ++i)
      (void)house.cluster().pause(2s, {});
  });
  ASSERT_TRUE(house.cluster().run_until([&] { return *done; }));
  EXPECT_EQ(house.text("front", "/status/status"), "gone");
  EXPECT_TRUE(house.listeners().empty()) << house.listeners_text();
}

// `lbnames` instead of ids: the cloud is asked whose names these are.
TEST(IngressOnClb, ByNameItIsOnTheLoadBalancersThatHaveIt) {
  ClbCloud cloud;
  cloud.add_load_balancer("lb-demo", {.name = "games"});
  cloud.add_load_balancer("ap-shanghai:lb-far", {.name = "lobby"});
  cloud.add_load_balancer("lb-other", {.name = "games-of-others"});
  IngressHouse house(7, on_clb({}, cloud));
  ASSERT_TRUE(house.open());
  house.write(IngressHouse::pod("a"));
  house.say_ready("a", true);
  house.write(fmt::format(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Ingress
metadata: {{name: front, namespace: games, annotations: {{networkextension.bkbcs.tencent.com/lbnames: "games,ap-shanghai:lobby,late"}}}}
spec: {}
)",
                          spec({plain(443, "TCP")})));
  ASSERT_TRUE(house.cluster().run_for(kLongerThanAnAudit));
  EXPECT_FALSE(house.is_ready("front"));
  EXPECT_THAT(house.text("front", "/status/message"), HasSubstr("late"));
  cloud.add_load_balancer("lb-late", {.name = "late"});
  ASSERT_TRUE(house.cluster().run_for(kLongerThanAnAudit));
  ASSERT_TRUE(house.cluster().settle(kQuiet));
  EXPECT_TRUE(house.is_ready("front")) << house.text("front", "/status/message");
  const std::vector<std::string> wanted{"443 TCP", "443 TCP " + house.ip_of("a") + ":80 10"};
  for (const char* lb : {"lb-demo", "lb-far", "lb-late"}) EXPECT_EQ(in_cloud(cloud, lb), wanted);
  EXPECT_THAT(in_cloud(cloud, "lb-other"), ::testing::IsEmpty()) << "half a name is none";
  // Named differently it is the same one, and stays.
  cloud.edit("lb-demo", [](sim::tencent::LoadBalancer& there) { there.name = "renamed"; });
  ASSERT_TRUE(house.cluster().run_for(kLongerThanAnAudit));
  EXPECT_EQ(in_cloud(cloud, "lb-demo"), wanted) << "nobody said that it should go";
  const Result<> closed = close(house, cloud);
  EXPECT_TRUE(closed) << closed.error().message;
}

// How clients and targets are spoken to: "a.example.com/ GRPC http2", "UDP QUIC_CID".
std::vector<std::string> manners(const ClbCloud& cloud) {
  std::vector<std::string> out;
  const auto there = cloud.cloud().load_balancer("lb-demo");
  for (const auto& [id, listener] : there->listeners) {
    if (listener.protocol == "UDP") out.push_back("UDP " + listener.session_type);
    if (listener.protocol != "HTTPS") continue;
    for (const sim::tencent::Rule& rule : listener.rules)
      out.push_back(fmt::format("{}{} {}{}{}", rule.domain(), rule.url, rule.forward_type,
                                rule.http2 ? " http2" : "", rule.quic ? " quic" : ""));
  }
  std::ranges::sort(out);
  return out;
}

std::string with_manners(const std::string& first, const std::string& second,
                         const std::string& session) {
  const auto route = [](const std::string& domain, const std::string& path,
                        const std::string& forward) {
    return fmt::format("{{domain: {}, path: {}, forwardType: '{}', {}}}", domain, path, forward,
                       kServices);
  };
  return fmt::format(
      "{{rules: [{{port: 445, protocol: HTTPS, certificate: {{certID: cert-1}}, layer7Routes: [{}, "
      "{}, {}]}}, {{port: 444, protocol: UDP, listenerAttribute: {{sessionType: {}}}, {}}}]}}",
      route("a.example.com", "/", first), route("b.example.com", "/", second),
      route("b.example.com", "/plain", ""), session, kServices);
}

TEST(IngressOnClb, GrpcAndQuicAreAsWrittenAndPutRightWhenSomebodyEditsThem) {
  ClbCloud cloud;
  cloud.add_load_balancer("lb-demo");
  IngressHouse house(7, on_clb({}, cloud));
  ASSERT_TRUE(house.open());
  house.write(IngressHouse::ingress("front", with_manners("GRPC", "QUIC", "QUIC_CID"), "lb-demo"));
  ASSERT_TRUE(house.cluster().settle(kQuiet));
  const std::vector<std::string> wanted{"UDP QUIC_CID", "a.example.com/ GRPC http2",
                                        "b.example.com/ HTTP quic",
                                        "b.example.com/plain HTTP quic"};
  EXPECT_EQ(manners(cloud), wanted);
  EXPECT_TRUE(house.is_ready("front")) << house.text("front", "/status/message");
  cloud.edit("lb-demo", [](sim::tencent::LoadBalancer& there) {
    for (auto& [id, listener] : there.listeners) {
      listener.session_type = "NORMAL";
      for (sim::tencent::Rule& rule : listener.rules) rule.http2 = rule.quic = false;
    }
  });
  ASSERT_TRUE(house.cluster().run_for(kLongerThanAnAudit));
  ASSERT_TRUE(house.cluster().settle(kQuiet));
  EXPECT_EQ(manners(cloud), wanted);
  house.change("front", with_manners("", "GRPC", "NORMAL"));
  ASSERT_TRUE(house.cluster().settle(kQuiet));
  EXPECT_EQ(manners(cloud), (std::vector<std::string>{"UDP NORMAL", "a.example.com/ HTTP http2",
                                                      "b.example.com/ GRPC http2",
                                                      "b.example.com/plain HTTP http2"}));
}

struct Count {
  std::uint64_t faults = 0;  // that befell a call
  std::uint64_t edits = 0;
  std::uint64_t moves = 0;
};

// People who cannot make up their minds, and in the end do.
struct People {
  IngressHouse& house;
  Watcher& watcher;
  Random random;
  Count& count;
  int pods = 0;

  std::string any_spec() {
    std::vector<std::string> rules, mappings;
    const Looks looks{.session = random.chance(0.5) ? 90 : 0,
                      .certificate = fmt::format("cert-{}", 1 + random.below(2))};
    if (random.chance(0.7)) rules.push_back(plain(443, random.chance(0.7) ? "TCP" : "UDP", looks));
    if (random.chance(0.4)) rules.push_back(plain(444, "UDP", looks));
    if (random.chance(0.6))
      rules.push_back(
          random.chance(0.5)
              ? site(445, {{"a.example.com", "/"}}, looks)
              : site(445,
                     {{"a.example.com", "/"}, {"a.example.com", "/lobby"}, {"b.example.com", "/"}},
                     looks));
    if (random.chance(0.4)) rules.push_back(named_site(447, {{"c.example.com", "/"}}, looks));
    if (random.chance(0.5))
      mappings.push_back(mapping(30000, 1 + static_cast<int>(random.below(3))));
    if (rules.empty() && mappings.empty()) rules.push_back(plain(446, "TCP"));
    return spec(rules, mappings);
  }
  void new_pod() {
    const std::string name = fmt::format("web-{}", pods++);
    house.write(IngressHouse::pod(name));
    house.say_ready(name, random.chance(0.8));
    watcher.note(name);
  }
  void make_front(const std::string& what) {
    // One that is being deleted goes first, however long that takes.
    for (;;) {
      (void)house.cluster().create_missing(
          IngressHouse::ingress("front", what, "lb-demo,ap-nanjing:lb-east"));
      if (house.text("front", "/status/status") != "gone" &&
          house.text("front", "/metadata/deletionTimestamp").empty())
        return;
      if (!house.cluster().pause(2s, {})) return;
    }
  }
  void move() {
    ++count.moves;
    switch (random.below(6)) {
      case 0: return new_pod();
      case 1:
        if (pods > 0)
          (void)house.cluster().ask("DELETE",
                                    fmt::format("{}/web-{}", kIngressPods,
                                                random.below(static_cast<std::uint64_t>(pods))));
        return;
      case 2:
        (void)house.cluster().ask("DELETE", kIngresses + "/front");
        return make_front(any_spec());
      default: return house.change("front", any_spec());
    }
  }
  void live() {
    house.write(IngressHouse::pod("room-0", "room"));
    house.say_ready("room-0", true);
    watcher.note("room-0");
    new_pod();
    make_front(any_spec());
    for (int i = 0; i < 8; ++i) {
      (void)house.cluster().pause(up_to(random, 15s), {});
      move();
    }
    make_front(last_spec());
    house.change("front", last_spec());
  }
};

void edit_any(ClbCloud& cloud, Random& random) {
  cloud.edit(random.chance(0.5) ? "lb-demo" : "lb-east", [&](sim::tencent::LoadBalancer& there) {
    const std::string ours = cloud.any_of_ours(there, random);
    if (ours.empty()) return;
    sim::tencent::Listener& listener = there.listeners.at(ours);
    if (listener.rules.empty() || random.chance(0.3)) {
      there.listeners.erase(ours);
    } else if (random.chance(0.5)) {
      listener.rules.back().targets.clear();
    } else if (!listener.rules.back().id.empty()) {
      listener.rules.pop_back();
    }
  });
}

Result<sim::RunReport> live(std::uint64_t seed, Count& count) {
  Random random(seed);
  ClbOptions settings;
  settings.settings.seed = random.next();
  settings.settings.unsure.busy_names_the_task = random.chance(0.5);
  settings.settings.unsure.batch_targets_are_tasks = random.chance(0.7);
  settings.settings.unsure.untargeted_are_left_out = random.chance(0.3);
  ClbCloud cloud(settings);
  furnish(cloud);
  WorldOptions options = on_clb(troubled_world(random), cloud);
  options.kubelet.max_start = up_to(random, 10s);
  const bool has_hands = random.chance(0.4);
  IngressHouse house(seed, std::move(options));
  Watcher watcher{house};
  watcher.look();
  if (Result<> open = house.open(); !open) return pass(open);
  world::Gremlin gremlin(house.cluster(), {.pause = 2s + up_to(random, 4s), .max_repeats = 2});
  People people{house, watcher, random.fork(), count};
  Random trouble = random.fork();
  const std::vector<std::string_view> calls = all_calls();
  const auto lived = house.cluster().play("people", [&](std::stop_token) { people.live(); });
  const auto stumbled = house.cluster().play("cloud", [&](const std::stop_token& stop) {
    while (!*lived && house.cluster().pause(up_to(trouble, 4s), stop)) {
      stumble(cloud, trouble, calls);
      if (!has_hands || !trouble.chance(0.2)) continue;
      edit_any(cloud, trouble);
      ++count.edits;
    }
  });
  if (Result<> ran = house.cluster().run_until([&] { return *lived && *stumbled; }); !ran) {
    house.cluster().end_players();  // before what they use
    return pass(ran);
  }
  gremlin.stop();
  house.cluster().link().cut_stream_chance = 0;
  house.cluster().link().lost_answer_chance = 0;
  house.world().kernel().set_crash_plan(sim::NoCrash{});
  cloud.cloud().clear_faults();
  if (has_hands) {
    if (Result<> audited = house.cluster().run_for(kLongerThanAnAudit); !audited)
      return pass(audited);
  }
  if (Result<> settled = house.cluster().settle(kQuiet); !settled) return pass(settled);
  if (Result<> fine = check_last(house, cloud, {"lb-demo", "lb-east"}); !fine) return pass(fine);
  if (Result<> closed = close(house, cloud); !closed) return pass(closed);
  if (Result<> fine = check_strangers(cloud); !fine) return pass(fine);
  if (Result<> fine = watcher.check(); !fine) return pass(fine);
  if (house.world().kernel().failure()) return fail(*house.world().kernel().failure());
  count.faults += count_of(cloud.cloud().faults_taken());
  return house.world().kernel().report();
}

TEST(IngressOnClb, LivesThroughAnyTrouble) {
  Count count;
  const auto swept = sim::sweep(sweep_for("Ingresses on CLB in trouble", 10s, 40),
                                [&](std::uint64_t seed) { return live(seed, count); });
  ASSERT_TRUE(swept) << swept.error().message;
  fmt::print(
      "Ingresses on CLB in trouble: {} faults that befell calls, {} edits, {} moves of people\n",
      count.faults, count.edits, count.moves);
  EXPECT_GE(count.faults, swept->seeds);
}

}  // namespace
}  // namespace berth::scenario
