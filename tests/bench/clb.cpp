// Port pools on Tencent's load balancers: the whole controller with the real driver on the
// simulated cloud with its documented limits, in virtual time. Beside each time stands what these
// limits allow at the best.

#include <boost/json.hpp>
#include <ctime>
#include <map>
#include <set>

#include "../scenarios/clb_cloud.h"
#include "api/pod_ports.h"
#include "clb.h"
#include "house.h"

namespace berth::bench {
namespace {

using scenario::ClbCloud;
using namespace std::chrono_literals;

constexpr std::int64_t kCallsPerSecond = 20;  // of each API
constexpr double kRoundTrip = 0.05;
constexpr double kTask = 0.5;
constexpr std::int64_t kListenersPerCreate = 49;
constexpr std::int64_t kTargetsPerBatch = 500;
constexpr std::int64_t kQuota = 1000;  // of listeners on one load balancer
// Nobody else's calls can land any more, and audits have not begun.
constexpr Duration kIdle = 4min;
constexpr sim::RunLimits kPatient{.max_steps = 1'000'000'000};
// Until a Pod has its address, at the most; and until it is gone.
constexpr Duration kMoves = 100ms;
const std::string kTwoPorts = "rooms TCP 8000;rooms TCP 8001";
const std::string kPods = "/api/v1/namespaces/games/pods";

std::int64_t calls_for(std::int64_t entries, std::int64_t per_call) {
  return (entries + per_call - 1) / per_call;
}

// What cannot be less. `writes` calls follow each other on each load balancer, of one API or of
// several, and each has one poll. Of an API's calls, as many as its limit may be made at once, and
// as many again a second later.
struct Bound {
  std::int64_t balancers = 1;
  std::vector<std::int64_t> writes{};  // on one load balancer, by API
  double arrival = 0;                  // of what comes last

  double seconds() const {
    std::int64_t chain = 0;
    double calls = 0;
    for (const std::int64_t one : writes) {
      chain += one;
      calls = std::max(calls, windows(one));
    }
    calls = std::max(calls, windows(chain));  // polls
    const double one_write = kRoundTrip + kTask;
    return arrival + std::max(calls + one_write, static_cast<double>(chain) * one_write);
  }

 private:
  // From the first of these calls to the last.
  double windows(std::int64_t calls) const {
    return static_cast<double>(calls_for(calls * balancers, kCallsPerSecond) - 1);
  }
};

std::string pool_yaml(int balancers, int ports_each, std::string_view protocol) {
  std::string out = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: rooms, namespace: games}
spec:
  allocatePolicy: average
  poolItems:
)";
  for (int i = 0; i < balancers; ++i) {
    out += fmt::format(
        "  - {{itemName: item{}, loadBalancerIDs: [\"lb-{}\"], protocol: \"{}\", startPort: 30000, "
        "endPort: {}}}\n",
        i, i, protocol, 30000 + ports_each);
  }
  return out;
}

constexpr std::string_view kNamespace = R"(
apiVersion: v1
kind: Namespace
metadata: {name: games, labels: {bcs-ingress-controller-inject: "true"}}
)";

class ClbHouse {
 public:
  // `moves`: how long Pods take to start and to end, at the most.
  explicit ClbHouse(int balancers, Duration moves = {})
      : cloud_(with_quota()), balancers_(balancers) {
    for (int i = 0; i < balancers; ++i) cloud_.add_load_balancer(fmt::format("lb-{}", i));
    world::WorldOptions options;
    options.config.load_balancers = scenario::clb_defaults();
    options.cloud = &cloud_;
    options.cluster.history_changes = 1'000'000;
    options.kubelet = {.max_start = moves, .max_end = moves};
    world_ = std::make_unique<world::World>(1, options);
    observing_ = world_->cluster().gateway().observe(
        [this](const net::Request& request, const world::SeenReply& reply) {
          see(request, reply);
        });
  }
  ~ClbHouse() { world_->cluster().end_players(); }

  ClbCloud& cloud() { return cloud_; }
  world::World& world() { return *world_; }
  int balancers() const { return balancers_; }

  // Until Berth is installed.
  Result<> open() {
    if (Result<> ran = world_->cluster().run_for(5s); !ran) return ran;
    return world_->cluster().create_all(kNamespace);
  }
  Result<> make_pool(int ports_each, std::string_view protocol) {
    Result<> made = world_->cluster().create_all(pool_yaml(balancers_, ports_each, protocol));
    if (!made) return made;
    return run_until([this] { return pool_ready_; });
  }
  // Nothing is under way any more, and nothing in doubt.
  Result<> rest() { return run_for(kIdle); }
  Result<> run_for(Duration span) {
    const Instant until = world_->kernel().now() + span;
    return run_until([&] { return world_->kernel().now() >= until; });
  }
  Result<> run_until(const std::function<bool()>& done) {
    return world_->cluster().run_until(done, kPatient);
  }

  Result<> create_pods(int first, int count, const std::string& ask) {
    for (int i = first; i < first + count; ++i) {
      wire::Object pod = room(fmt::format("room-{}", i), ask).as_object();
      pod["metadata"].as_object()["annotations"].as_object()[api::kKeepDurationAnnotation] = "30m";
      pod["spec"].as_object()["containers"].as_array()[0].as_object()["ports"].as_array().push_back(
          wire::Object{{"containerPort", 8001}});
      Result<wire::Value> made = world_->cluster().ask("POST", kPods, pod);
      if (!made) return pass(made);
    }
    return {};
  }
  Result<> remove_pods(int first, int count) {
    for (int i = first; i < first + count; ++i) {
      Result<wire::Value> gone =
          world_->cluster().ask("DELETE", fmt::format("{}/room-{}", kPods, i));
      if (!gone) return pass(gone);
    }
    return {};
  }
  Result<> wait_for_pods(std::size_t count) {
    return run_until([&] { return ready_.size() >= count; });
  }
  Result<> wait_until_nobody_is_led() {
    Instant look{};
    return run_until([&] {
      if (world_->kernel().now() < look) return false;
      look = world_->kernel().now() + 10ms;
      return targets() == 0;
    });
  }

  void begin() {
    cloud_.cloud().reset_calls();
    ready_.clear();
    started_ = world_->kernel().now();
    last_address_ = started_;
    longest_wait_ = {};
    addressed_.clear();
    cpu_ = std::clock();
  }
  // Since `begin`, in seconds: when the last Pod got its address.
  double last_address() const { return to_seconds(last_address_ - started_); }
  // Of a Pod, from its address until it was told that it can be reached.
  double longest_wait() const { return to_seconds(longest_wait_); }
  double passed() const { return to_seconds(world_->kernel().now() - started_); }
  // What was measured since `begin`.
  Line line(const std::string& name, const std::string& what, const Bound& bound) const {
    return line(name, what, passed(), bound);
  }
  Line line(const std::string& name, const std::string& what, double took,
            const Bound& bound) const {
    return {name,
            fmt::format("{}; beside what the limits allow. Virtual time, {:.1f} s of processor "
                        "time. Calls: {}",
                        what, cpu_seconds(), calls()),
            took,
            bound.seconds(),
            "s",
            "lower"};
  }
  std::string calls() const {
    std::string out;
    for (const auto& [action, count] : cloud_.cloud().calls()) {
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", action, count.answered);
      if (count.refused > 0) out += fmt::format(" ({} refused)", count.refused);
    }
    return out.empty() ? "none" : out;
  }
  double cpu_seconds() const {
    return static_cast<double>(std::clock() - cpu_) / static_cast<double>(CLOCKS_PER_SEC);
  }

 private:
  static scenario::ClbOptions with_quota() {
    scenario::ClbOptions options;
    options.settings.limits.listeners_per_load_balancer = kQuota;
    return options;
  }

  std::size_t targets() {
    std::size_t out = 0;
    for (int i = 0; i < balancers_; ++i)
      out += sim::tencent::target_count(*cloud_.cloud().load_balancer(fmt::format("lb-{}", i)));
    return out;
  }

  void see(const net::Request& request, const world::SeenReply& reply) {
    if (request.method == "GET" || reply.status() >= 300) return;
    const bool is_pool = request.url.contains("/portpools/");
    if (!is_pool && !request.url.contains("/pods/")) return;
    const wire::Value* const object = reply.object();
    if (object == nullptr) return;
    if (is_pool) {
      pool_ready_ = wire::string_at(*object, "/status/status") == api::kReady;
      return;
    }
    const std::string uid(wire::string_at(*object, "/metadata/uid"));
    const Instant now = world_->kernel().now();
    if (!wire::string_at(*object, "/status/podIP").empty() &&
        addressed_.try_emplace(uid, now).second)
      last_address_ = now;
    static const std::string kStatus =
        "/metadata/annotations/" + wire::escape_pointer_step(api::kBindStatusAnnotation);
    if (wire::string_at(*object, kStatus) == api::kReady &&
        wire::string_at(*object, "/metadata/deletionTimestamp").empty() &&
        ready_.insert(uid).second && addressed_.contains(uid))
      longest_wait_ = std::max(longest_wait_, now - addressed_.at(uid));
  }

  ClbCloud cloud_;
  const int balancers_;
  std::unique_ptr<world::World> world_;
  std::shared_ptr<const world::ServerGateway::Observer> observing_;
  std::set<std::string> ready_;               // uids of Pods that were told so
  std::map<std::string, Instant> addressed_;  // of those that have an address, since when
  Instant last_address_{};
  Duration longest_wait_{};
  bool pool_ready_ = false;
  Instant started_{};
  std::clock_t cpu_ = 0;
};

// The first error of several steps.
Result<> all_of(std::initializer_list<std::function<Result<>()>> steps) {
  for (const auto& step : steps)
    if (Result<> done = step(); !done) return done;
  return {};
}

Result<std::vector<Line>> few_pods(Environment&) {
  ClbHouse house(1);
  std::vector<Line> out;
  Result<> done = all_of({
      [&] { return house.open(); },
      [&] { return house.make_pool(200, "TCP"); },
      [&] { return house.rest(); },
      // How long tasks take is known when a few have been.
      [&]() -> Result<> {
        for (int i = 0; i < 5; ++i) {
          house.begin();
          if (Result<> made = house.create_pods(i, 1, "rooms TCP 8000"); !made) return made;
          if (Result<> ready = house.wait_for_pods(1); !ready) return ready;
        }
        return {};
      },
      [&] { return house.rest(); },
      [&]() -> Result<> {
        house.begin();
        return house.create_pods(10, 1, "rooms TCP 8000");
      },
      [&] { return house.wait_for_pods(1); },
      [&]() -> Result<> {
        out.push_back(house.line("clb-one-pod", "one Pod on an idle system", {.writes = {1}}));
        return {};
      },
      [&] { return house.rest(); },
      [&]() -> Result<> {
        house.begin();
        return house.create_pods(11, 1, kTwoPorts);
      },
      [&] { return house.wait_for_pods(1); },
      [&]() -> Result<> {
        out.push_back(house.line("clb-two-ports", "one Pod with two ports of one load balancer",
                                 {.writes = {1}}));
        return {};
      },
      [&] { return house.rest(); },
      [&]() -> Result<> {
        house.begin();
        return house.create_pods(20, 50, "rooms TCP 8000");
      },
      [&] { return house.wait_for_pods(50); },
  });
  if (!done) return pass(done);
  out.push_back(house.line("clb-50-pods",
                           "50 Pods on one load balancer, each with its address before the next "
                           "one is created",
                           {.writes = {1}}));
  return out;
}

constexpr int kManyBalancers = 20;
constexpr int kManyPods = 1000;

Result<std::vector<Line>> many_pods(Environment&) {
  ClbHouse house(kManyBalancers);
  const std::int64_t targets_each = 2 * kManyPods / kManyBalancers;
  const std::int64_t batches = calls_for(targets_each, kTargetsPerBatch);
  std::vector<Line> out;
  Result<> done = all_of({
      [&] { return house.open(); },
      [&] { return house.make_pool(static_cast<int>(targets_each), "TCP"); },
      [&] { return house.rest(); },
      [&]() -> Result<> {
        house.begin();
        return house.create_pods(0, kManyPods, kTwoPorts);
      },
      [&] { return house.wait_for_pods(kManyPods); },
      [&]() -> Result<> {
        out.push_back(house.line("clb-bind-1000x2",
                                 "1,000 Pods with two ports each on 20 load balancers",
                                 {.balancers = kManyBalancers, .writes = {batches}}));
        return {};
      },
      [&] { return house.rest(); },
      [&]() -> Result<> {
        house.begin();
        if (Result<> gone = house.remove_pods(0, kManyPods); !gone) return gone;
        return house.run_for(1ms);  // the node has ended them
      },
      [&] { return house.create_pods(0, kManyPods, kTwoPorts); },
      [&] { return house.wait_for_pods(kManyPods); },
      [&]() -> Result<> {
        out.push_back(house.line("clb-roll-1000x2",
                                 "all of them replaced at once, by Pods of the same names",
                                 {.balancers = kManyBalancers, .writes = {batches, batches}}));
        return {};
      },
      [&] { return house.rest(); },
      [&]() -> Result<> {
        house.begin();
        return house.remove_pods(0, kManyPods);
      },
      [&] { return house.wait_until_nobody_is_led(); },
  });
  if (!done) return pass(done);
  out.push_back(house.line("clb-delete-1000x2", "all of them deleted, until nobody is led there",
                           {.balancers = kManyBalancers, .writes = {batches}}));
  return out;
}

// The same with Pods that take their time: the others were created when the first has its address.
Result<std::vector<Line>> started_pods(Environment&) {
  ClbHouse house(1, kMoves);
  ClbHouse many(kManyBalancers, kMoves);
  const std::int64_t targets_each = 2 * kManyPods / kManyBalancers;
  std::vector<Line> out;
  Result<> done = all_of({
      [&] { return house.open(); },
      [&] { return house.make_pool(200, "TCP"); },
      [&] { return house.rest(); },
      [&]() -> Result<> {
        house.begin();
        return house.create_pods(0, 50, "rooms TCP 8000");
      },
      [&] { return house.wait_for_pods(50); },
      [&]() -> Result<> {
        out.push_back(house.line("clb-50-pods-started",
                                 "50 Pods on one load balancer, with addresses within 0.1 s",
                                 {.writes = {1}, .arrival = house.last_address()}));
        return {};
      },
      [&] { return many.open(); },
      [&] { return many.make_pool(static_cast<int>(targets_each), "TCP"); },
      [&] { return many.rest(); },
      [&]() -> Result<> {
        many.begin();
        return many.create_pods(0, kManyPods, kTwoPorts);
      },
      [&] { return many.wait_for_pods(kManyPods); },
  });
  if (!done) return pass(done);
  out.push_back(many.line(
      "clb-bind-1000x2-started", "1,000 Pods on 20 load balancers, with addresses within 0.1 s",
      {.balancers = kManyBalancers, .writes = {1}, .arrival = many.last_address()}));
  return out;
}

// One by one, so slowly that each finds its load balancer idle: nobody gains by a wait.
Result<std::vector<Line>> trickle(Environment&) {
  constexpr int kBalancers = 5;
  constexpr int kRooms = 50;
  constexpr Duration kBetween = 200ms;
  ClbHouse house(kBalancers);
  Result<> done = all_of({
      [&] { return house.open(); },
      [&] { return house.make_pool(2 * kRooms, "TCP"); },
      [&] { return house.rest(); },
      [&]() -> Result<> {
        // How long tasks take is known when a few have been.
        for (int i = 0; i < 2 * kRooms; ++i) {
          if (i == kRooms) house.begin();
          if (Result<> made = house.create_pods(i, 1, "rooms TCP 8000"); !made) return made;
          if (Result<> passed = house.run_for(kBetween); !passed) return passed;
        }
        return house.wait_for_pods(kRooms);
      },
  });
  if (!done) return pass(done);
  return std::vector<Line>{house.line(
      "clb-trickle",
      "50 Pods, one each 0.2 s, on 5 load balancers: the longest wait from address to Ready",
      house.longest_wait(), {.writes = {1}})};
}

Result<std::vector<Line>> large_pool(Environment&) {
  constexpr int kPorts = 4000;
  ClbHouse house(kManyBalancers);
  const std::int64_t each = kPorts / kManyBalancers;
  std::vector<Line> out;
  Result<> done = all_of({
      [&] { return house.open(); },
      [&]() -> Result<> {
        house.begin();
        return house.make_pool(static_cast<int>(each), "TCP,UDP");
      },
      [&]() -> Result<> {
        out.push_back(house.line(
            "clb-pool-4000",
            "a pool of 4,000 TCP and UDP ports on 20 load balancers, until it "
            "is Ready",
            {.balancers = kManyBalancers, .writes = {2 * calls_for(each, kListenersPerCreate)}}));
        return {};
      },
      [&] { return house.rest(); },
      [&]() -> Result<> {
        house.begin();
        house.world().restart(0);
        return house.run_until([&] { return house.world().leaders() == 1; });
      },
  });
  if (!done) return pass(done);
  // Two audits look at everything.
  if (done = house.run_for(25min); !done) return pass(done);
  out.push_back(
      {"clb-restart-8000",
       fmt::format("writes to the cloud after a restart with 8,000 listeners in sync, two "
                   "audits included, beside one. Virtual time, {:.1f} s of processor "
                   "time. Calls: {}",
                   house.cpu_seconds(), house.calls()),
       static_cast<double>(house.cloud().writes()), 1, "writes", "lower"});
  return out;
}

}  // namespace

std::vector<Bench> clb_benches() {
  return {{{"clb-one-pod", "clb-two-ports", "clb-50-pods"}, few_pods},
          {{"clb-bind-1000x2", "clb-roll-1000x2", "clb-delete-1000x2"}, many_pods},
          {{"clb-trickle"}, trickle},
          {{"clb-50-pods-started", "clb-bind-1000x2-started"}, started_pods},
          {{"clb-pool-4000", "clb-restart-8000"}, large_pool}};
}

}  // namespace berth::bench
