#include "fence_watch.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "ledger/claim.h"
#include "net/transport.h"

namespace berth::scenario {
namespace {

using wire::Object;
using wire::Value;

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kLosses = 60;
// A leader that cannot renew notices it only when it tries again: so long it goes on working.
constexpr Duration kRetryPeriod = seconds{2};
constexpr Duration kRenewDeadline = seconds{5};
constexpr Duration kLeaseDuration = seconds{7};

// "apis/group/version/namespaces/games/listeners/name": the resource and what stands behind it.
struct Path {
  std::string resource;
  std::string name;
};
Path path_of(const std::string& url) {
  const std::size_t begin = url.find("/api", url.find("://") + 3);
  const std::size_t end = std::min(url.find('?'), url.size());
  std::vector<std::string> steps;
  for (std::size_t at = begin + 1; begin != std::string::npos && at < end;) {
    const std::size_t slash = std::min(url.find('/', at), end);
    steps.push_back(url.substr(at, slash - at));
    at = slash + 1;
  }
  std::size_t resource = steps.empty() || steps[0] == "api" ? 2 : 3;
  if (steps.size() > resource + 2 && steps[resource] == "namespaces") resource += 2;
  if (resource >= steps.size()) return {};
  return {steps[resource], resource + 1 < steps.size() ? steps[resource + 1] : std::string()};
}

// Any replica takes a port at admission, and gives back what it took.
bool is_of_an_admission(const Value& operation) {
  if (wire::string_at(operation, "/op") == "test") return true;
  if (!wire::string_at(operation, "/path").ends_with("berth.dev~1claim")) return false;
  const Result<std::optional<ledger::Claim>> claim =
      ledger::decode_claim(wire::string_at(operation, "/value"));
  if (!claim) return false;
  return !*claim || (*claim)->state == ledger::SlotState::claimed ||
         (*claim)->state == ledger::SlotState::kept;
}

// Of a JSON Patch: what it changes first.
std::string change_in(const net::Request& request) {
  const Result<Value> patch = wire::parse_json(request.body);
  for (const Value& operation : patch && patch->is_array() ? patch->get_array() : wire::Array{})
    if (wire::string_at(operation, "/op") != "test")
      return fmt::format(" {}", wire::string_at(operation, "/path"));
  return "";
}

bool is_for_the_leader(const net::Request& request) {
  if (request.method == "GET") return false;
  static const std::set<std::string> kTheLeaders{"loadbalancers", "portblocks", "portpools",
                                                 "portbindings",  "ingresses",  "pods"};
  const std::string resource = path_of(request.url).resource;
  if (resource != "listeners") return kTheLeaders.contains(resource);
  if (request.method != "PATCH") return true;
  const Result<Value> patch = wire::parse_json(request.body);
  if (!patch || !patch->is_array()) return true;
  return !std::ranges::all_of(patch->get_array(), is_of_an_admission);
}

}  // namespace

struct FenceWatch::Notes {
  bool refuses = false;
  std::vector<std::string> late{};
  std::map<std::string, std::size_t> in_time{};
};

class FenceWatch::Network final : public net::Transport {
 public:
  Network(net::Transport& inner, std::shared_ptr<Notes> notes)
      : inner_(inner), notes_(std::move(notes)) {}

  Result<net::Response> call(const Context& context, const net::Request& request) override {
    if (request.method != "GET" && path_of(request.url).resource == "leases")
      return renew(context, request);
    if (is_for_the_leader(request)) note(context.tasks.now(), request);
    return inner_.call(context, request);
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    return inner_.open(context, request);
  }

 private:
  Result<net::Response> renew(const Context& context, const net::Request& request) {
    const Result<Value> lease = wire::parse_json(request.body);
    const bool holds = lease && !wire::string_at(*lease, "/spec/holderIdentity").empty();
    if (!holds) may_write_until_ = Instant::min();  // it gives the Lease up
    if (notes_->refuses) return net::Response{.status = 503, .body = "{}"};
    const Instant begun = context.tasks.now();
    Result<net::Response> answer = inner_.call(context, request);
    if (holds && answer && answer->status < 300) may_write_until_ = begun + kRenewDeadline;
    return answer;
  }

  void note(Instant now, const net::Request& request) {
    const std::string resource = path_of(request.url).resource;
    if (now < may_write_until_) {
      ++notes_->in_time[resource];
    } else {
      notes_->late.push_back(fmt::format("{} {}{}", request.method, resource, change_in(request)));
    }
  }

  net::Transport& inner_;
  const std::shared_ptr<Notes> notes_;
  Instant may_write_until_ = Instant::min();
};

namespace {

// Two of them, one around the other.
class Nested final : public net::Transport {
 public:
  using Around = std::function<std::unique_ptr<net::Transport>(net::Transport&)>;

  Nested(std::unique_ptr<net::Transport> inner, const Around& around)
      : inner_(std::move(inner)), outer_(around(*inner_)) {}
  Result<net::Response> call(const Context& context, const net::Request& request) override {
    return outer_->call(context, request);
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    return outer_->open(context, request);
  }

 private:
  const std::unique_ptr<net::Transport> inner_;
  const std::unique_ptr<net::Transport> outer_;
};

}  // namespace

void FenceWatch::plant_into(world::WorldOptions& options) {
  options.around_transport = [notes = notes_, before = options.around_transport](
                                 net::Transport& network) -> std::unique_ptr<net::Transport> {
    auto watch = std::make_unique<Network>(network, notes);
    if (!before) return watch;
    return std::make_unique<Nested>(std::move(watch), before);
  };
}

FenceWatch::FenceWatch() : notes_(std::make_shared<Notes>()) {}
FenceWatch::~FenceWatch() = default;

void FenceWatch::refuse_renewals(bool refuse) { notes_->refuses = refuse; }
const std::vector<std::string>& FenceWatch::late() const { return notes_->late; }
const std::map<std::string, std::size_t>& FenceWatch::in_time() const { return notes_->in_time; }

namespace {

constexpr std::string_view kService = R"(
apiVersion: v1
kind: Service
metadata: {name: web, namespace: games}
spec:
  selector: {app: web}
  ports: [{name: tcp, protocol: TCP, port: 8080, targetPort: 80}]
)";
const std::string kIngressPath =
    "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/ingresses";
constexpr int kIngresses = 8;

// Between two changes of one thing.
constexpr Duration kRestless = milliseconds{800};

// Its item says another outside address, so that there is always something to say of it.
void change_pool(world::World& world, const std::stop_token& stop) {
  User user(world);
  for (int i = 0; !stop.stop_requested(); ++i) {
    (void)user.change_pool(
        "halls",
        [&](Value& pool) {
          return wire::set_at(pool, "/spec/poolItems/0/external",
                              Value(fmt::format("outside-{}", i)))
              .has_value();
        },
        1);
    if (!world.cluster().pause(kRestless, stop)) return;
  }
}

// Their rules move from port to port, so that there is always something to grant, make and say.
void change_ingresses(world::World& world, const std::stop_token& stop) {
  world::Cluster& cluster = world.cluster();
  while (!cluster.create_missing(kService) && cluster.pause(kRestless, stop)) {
  }
  for (int i = 0; !stop.stop_requested(); ++i) {
    const int which = i % kIngresses;
    const std::string name = fmt::format("web-{}", which);
    const Object rule{{"protocol", "TCP"},
                      {"port", 41'000 + 10 * which + i / kIngresses % 3},
                      {"services", wire::Array{Object{{"serviceName", "web"},
                                                      {"serviceNamespace", "games"},
                                                      {"servicePort", 8080}}}}};
    Object wanted{{"spec", Object{{"rules", wire::Array{rule}}}}};
    if (!cluster.ask("PATCH", kIngressPath + "/" + name, wanted)) {
      wanted["apiVersion"] = "networkextension.bkbcs.tencent.com/v1";
      wanted["kind"] = "Ingress";
      wanted["metadata"] = Object{
          {"name", name},
          {"annotations", Object{{"networkextension.bkbcs.tencent.com/lbids", "edge:demo"}}}};
      (void)cluster.ask("POST", kIngressPath, wanted);
    }
    if (!cluster.pause(kRestless, stop)) return;
  }
}

world::WorldOptions busy_world() {
  world::WorldOptions options;
  options.replicas = 2;
  options.cluster.kernel.min_latency = milliseconds{1};
  options.cluster.kernel.max_latency = milliseconds{600};
  options.cluster.link.max_watch_delay = milliseconds{300};
  options.config.without = {};
  options.config.lease_duration = kLeaseDuration;
  options.config.renew_deadline = kRenewDeadline;
  options.config.lease_retry_period = kRetryPeriod;
  // What they answer is heard when the time is over.
  options.provider.max_latency = seconds{2};
  return options;
}

// The leader's time runs out while it works; then it leads again, or the other one does.
Result<> lose_the_lease(PoolHouse& house, FenceWatch& watch) {
  const auto wait = [&](Duration span) {
    const Instant end = house.world().kernel().now() + span;
    return house.run_until([&] { return house.world().kernel().now() >= end; });
  };
  watch.refuse_renewals(true);
  if (Result<> ran = house.run_until([&] { return house.world().leaders() == 0; }); !ran)
    return ran;
  if (Result<> ran = wait(kRetryPeriod + seconds{1}); !ran) return ran;
  watch.refuse_renewals(false);
  if (Result<> ran = house.run_until([&] { return house.world().leaders() == 1; }); !ran)
    return ran;
  return wait(seconds{3});
}

}  // namespace

Result<> live_with_lost_leases(std::uint64_t seed, FenceWatch& watch, const Plant& plant) {
  Random random(seed);
  world::WorldOptions options = busy_world();
  if (plant) plant(options);
  watch.plant_into(options);
  PoolHouse house(seed, std::move(options));
  if (Result<> open = house.open(); !open) return open;
  house.quota().refuses = 0.2;
  (void)house.cluster().play("ingress", [&world = house.world()](const std::stop_token& stop) {
    change_ingresses(world, stop);
  });
  (void)house.cluster().play(
      "pool", [&world = house.world()](const std::stop_token& stop) { change_pool(world, stop); });
  auto lives = start_lives(house, random);
  for (int i = 0; i < kLosses; ++i) {
    if (all_through(lives)) lives = start_lives(house, random);
    if (Result<> lost = lose_the_lease(house, watch); !lost) return lost;
  }
  if (house.world().kernel().failure()) return fail(*house.world().kernel().failure());
  return {};
}

}  // namespace berth::scenario
