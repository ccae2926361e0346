#include "clb_cloud.h"

#include <algorithm>

#include "providers/tencent.h"
#include "sim/cloud/tencent/transport.h"

namespace berth::scenario {
namespace {

constexpr std::string_view kSecretId = "AKIDEXAMPLE";
constexpr std::string_view kSecretKey = "example-key";
constexpr std::string_view kHealthAction = "DescribeTargetHealth";

// Asked over and over, at moments that say nothing about what is written.
bool is_for_health(std::string_view action) { return action == kHealthAction; }

bool is_known(std::string_view action) {
  const std::vector<std::string_view> known = all_calls();
  return std::ranges::find(known, action) != known.end();
}

bool is_read(std::string_view action) { return action.starts_with("Describe"); }

model::LoadBalancerRef ref_of(const std::string& text) {
  return model::parse_load_balancer(text, clb_defaults()).value();
}

lb::ObservedListener seen_as(const sim::tencent::Listener& one) {
  std::vector<model::WeightedTarget> targets;
  for (const sim::tencent::Rule& rule : one.rules)
    for (const sim::tencent::Target& target : rule.targets)
      targets.push_back({{target.ip, static_cast<model::Port>(target.port)},
                         static_cast<std::uint32_t>(target.weight)});
  std::ranges::sort(targets);
  return {.id = model::ListenerId(one.id),
          .spec = model::plain_listener(
              model::parse_protocol(one.protocol).value(),
              {static_cast<model::Port>(one.port), static_cast<model::Port>(one.last_port())},
              one.name, std::move(targets))};
}

bool is_same(const sim::tencent::Listener& a, const sim::tencent::Listener& b) {
  const auto facts = [](const sim::tencent::Listener& one) {
    return std::tuple(one.name, one.protocol, one.port, one.end_port, one.certificate,
                      one.rules[0].session_seconds, one.rules[0].scheduler,
                      one.rules[0].health_check);
  };
  return facts(a) == facts(b) &&
         std::ranges::equal(
             a.rules[0].targets, b.rules[0].targets,
             [](const auto& x, const auto& y) { return x.same_place(y) && x.weight == y.weight; });
}

}  // namespace

model::LoadBalancerDefaults clb_defaults() {
  return {.provider = model::Provider::tencent, .region = std::string(kClbRegion)};
}

std::vector<std::string_view> all_calls() {
  std::vector<std::string_view> out(kPlainCalls.begin(), kPlainCalls.end());
  out.insert(out.end(), kRuleCalls.begin(), kRuleCalls.end());
  return out;
}

ClbCloud::ClbCloud(ClbOptions options)
    : options_(std::move(options)), cloud_(options_.settings), secret_key_(kSecretKey) {
  cloud_.add_account(options_.account);
  give_key({"*:*"});
}

void ClbCloud::give_key(const sim::tencent::Policy& policy) {
  cloud_.add_key({.secret_id = std::string(kSecretId),
                  .secret_key = Secret(std::string(kSecretKey)),
                  .account = options_.account.uin,
                  .policy = policy});
}

void ClbCloud::add_load_balancer(const std::string& reference, sim::tencent::LoadBalancer about) {
  const model::LoadBalancerRef ref = ref_of(reference);
  about.id = ref.id;
  about.region = ref.region;
  if (about.account.empty()) about.account = options_.account.uin;
  if (about.name.empty()) about.name = "name-of-" + ref.id;
  cloud_.add_load_balancer(std::move(about), sim::KernelOptions{}.wall_start);
  seen_[ref];
}

void ClbCloud::add_stranger(const std::string& lb, sim::tencent::Listener listener) {
  const std::string id = cloud_.add_listener(lb, std::move(listener));
  strangers_[id] = cloud_.load_balancer(lb)->listeners.at(id);
  strangers_places_[id] = lb;
}

std::string ClbCloud::touched_stranger() const {
  for (const auto& [id, was] : strangers_) {
    const auto lb = cloud_.load_balancer(strangers_places_.at(id));
    if (!lb) continue;
    const auto is = lb->listeners.find(id);
    if (is == lb->listeners.end() || !is_same(was, is->second))
      return fmt::format("{} on port {} of {}", was.name, was.port, lb->id);
  }
  return {};
}

void ClbCloud::edit(const std::string& lb,
                    const std::function<void(sim::tencent::LoadBalancer&)>& change) {
  cloud_.edit(lb, change);
  look();
}

void ClbCloud::remove_load_balancer(const std::string& lb) {
  cloud_.remove_load_balancer(lb);
  look();
}

std::string ClbCloud::any_of_ours(const sim::tencent::LoadBalancer& lb, Random& random) const {
  std::vector<std::string> ours;
  for (const auto& [id, listener] : lb.listeners)
    if (!strangers_.contains(id)) ours.push_back(id);
  return ours.empty() ? std::string() : ours[random.below(ours.size())];
}

void ClbCloud::count_calls(std::optional<ClbCrash> crash) {
  crash_ = crash;
  counted_ = 0;
}

std::uint64_t ClbCloud::calls(const std::string& action) const {
  return cloud_.calls()[action].answered;
}

std::uint64_t ClbCloud::writes() const {
  std::uint64_t out = 0;
  for (const auto& [action, count] : cloud_.calls())
    if (!is_read(action)) out += count.answered;
  return out;
}

std::vector<std::string> ClbCloud::never_called(std::span<const std::string_view> actions) const {
  std::vector<std::string> out;
  for (const std::string_view action : actions)
    if (calls(std::string(action)) == 0) out.emplace_back(action);
  return out;
}

bool ClbCloud::dies_at(std::uint64_t number, sim::CrashSide side) const {
  return crash_ && crash_->call == number && crash_->side == side;
}

void ClbCloud::note_caller(const net::Request& request) {
  constexpr std::string_view kBefore = "Credential=";
  const std::string_view signature = request.headers.get("Authorization");
  const std::size_t at = signature.find(kBefore);
  if (at == std::string_view::npos) return;
  const std::string_view from = signature.substr(at + kBefore.size());
  const Result<wire::Value> body = wire::parse_json(request.body);
  const std::string_view lb = body ? wire::string_at(*body, "/LoadBalancerId") : "";
  if (!lb.empty()) callers_.insert(fmt::format("{} {}", from.substr(0, from.find('/')), lb));
}

Result<net::Reply> ClbCloud::deliver(sim::Process& process, const net::Request& request,
                                     const std::function<net::Reply()>& serve) {
  const std::string action(request.headers.get("X-TC-Action"));
  note_caller(request);
  if (!is_known(action)) process.kernel().fail("no sweep knows that the driver calls " + action);
  const bool counts = !is_for_health(action) && process.alive();
  const std::uint64_t number = counted_;
  if (counts) ++counted_;
  if (counts && dies_at(number, sim::CrashSide::before)) process.kernel().crash(process);
  const auto effect = is_read(action) ? sim::Effect::read : sim::Effect::write;
  Result<net::Reply> reply = sim::seam(process, action, effect, [&] {
    net::Reply served = serve();
    look();
    return served;
  });
  if (counts && dies_at(number, sim::CrashSide::after)) {
    process.kernel().crash(process);
    return fail(Code::stopped, "{}: the process has ended", action);
  }
  return reply;
}

app::DriverPart ClbCloud::connect(sim::Process& process, net::Transport& to_server) {
  struct Connected {
    explicit Connected(sim::tencent::Cloud& cloud, sim::tencent::TransportOptions options)
        : transport(cloud, std::move(options)) {}
    sim::tencent::CloudTransport transport;
    std::shared_ptr<void> driver;
  };
  const auto connected = std::make_shared<Connected>(
      cloud_, sim::tencent::TransportOptions{
                  .round_trip = options_.round_trip,
                  .clock = &process.kernel().world(),
                  .deliver = [this, &process](const net::Request& request,
                                              const std::function<net::Reply()>& serve) {
                    return deliver(process, request, serve);
                  }});
  app::DriverPart part = providers::start_tencent(
      process, connected->transport,
      {.options = {.region = std::string(kClbRegion),
                   .calls_per_second = options_.settings.limits.calls_per_second},
       .credentials = {.id = std::string(kSecretId), .key = Secret(secret_key_)}},
      options_.credentials
          ? providers::tencent_credentials(
                to_server,
                kube::fixed_config(world::Cluster::kServerUrl,
                                   {.bearer_token = Secret(std::string(world::kOurUser))}),
                *options_.credentials)
          : nullptr);
  connected->driver = std::move(part.owner);
  part.owner = connected;
  return part;
}

void ClbCloud::advance(sim::Kernel& kernel) {
  cloud_.advance(kernel.wall_time());
  look();
}

void ClbCloud::observe(std::function<void(const sim::lb::Change&)> observer) {
  observer_ = std::move(observer);
  look();
}

ClbCloud::Listeners ClbCloud::now_on(const model::LoadBalancerRef& lb) const {
  Listeners out;
  const auto there = cloud_.load_balancer(lb.id);
  if (!there) return out;
  for (const auto& [id, listener] : there->listeners)
    if (!strangers_.contains(id)) out.emplace(id, seen_as(listener));
  return out;
}

void ClbCloud::look() {
  if (!observer_) return;
  std::vector<sim::lb::Change> changes;
  for (auto& [lb, before] : seen_) {
    Listeners after = now_on(lb);
    for (const auto& [id, was] : before) {
      const auto is = after.find(id);
      if (is == after.end()) {
        changes.push_back({lb, was, std::nullopt});
      } else if (is->second.spec != was.spec) {
        changes.push_back({lb, was, is->second});
      }
    }
    for (const auto& [id, is] : after)
      if (!before.contains(id)) changes.push_back({lb, std::nullopt, is});
    before = std::move(after);
  }
  for (const sim::lb::Change& change : changes) observer_(change);
}

std::vector<model::LoadBalancerRef> ClbCloud::load_balancers() const {
  std::vector<model::LoadBalancerRef> out;
  for (const auto& [lb, listeners] : seen_) out.push_back(lb);
  return out;
}

std::vector<lb::ObservedListener> ClbCloud::listeners(const model::LoadBalancerRef& lb) const {
  std::vector<lb::ObservedListener> out;
  for (auto& [id, listener] : now_on(lb)) out.push_back(std::move(listener));
  return out;
}

std::optional<lb::ObservedListener> ClbCloud::find(const model::LoadBalancerRef& lb,
                                                   model::Transport transport,
                                                   model::Port port) const {
  const auto on = seen_.find(lb);
  if (on == seen_.end()) return std::nullopt;
  const auto it = std::ranges::find_if(on->second, [&](const auto& one) {
    return model::takes(one.second.spec.protocol, transport) &&
           one.second.spec.ports.contains(port);
  });
  return it == on->second.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace berth::scenario
