#include "sim/cloud/traffic/carrier.h"

#include <algorithm>

#include "lb/plan.h"
#include "sim/cloud/traffic/carried.h"
#include "sim/cloud/traffic/made_up_certificates.h"

namespace berth::sim::traffic {
namespace {

// Tasks of the cloud end by themselves, and ports of this machine become free.
constexpr Duration kLook = std::chrono::milliseconds{200};
// A caller of the cloud is not kept for ever, whatever the machine is busy with.
constexpr Duration kPatience = std::chrono::seconds{30};

edge::AddressPlan addresses_of(tencent::Cloud& cloud) {
  return [&cloud](const model::LoadBalancerRef& lb) -> Result<std::vector<std::string>> {
    std::vector<std::string> out;
    for (const std::string& vip : cloud.vips(lb.id)) out.push_back(loopback_of(vip));
    return out;
  };
}

}  // namespace

Result<std::unique_ptr<Carrier>> Carrier::start(Tasks& tasks, tencent::Cloud& cloud,
                                                CarrierOptions options) {
  const edge::LowPorts low = options.low_ports.value_or(edge::low_ports_of_process());
  Result<std::unique_ptr<edge::EdgeDriver>> edge =
      edge::EdgeDriver::start({.addresses = addresses_of(cloud),
                               .low_ports = low,
                               .loopback_targets = true,
                               .certificates = std::make_shared<MadeUpCertificates>()});
  if (!edge) return pass(edge);
  return std::unique_ptr<Carrier>(new Carrier(tasks, cloud, low, std::move(*edge)));
}

Carrier::Carrier(Tasks& tasks, tencent::Cloud& cloud, edge::LowPorts low_ports,
                 std::unique_ptr<edge::EdgeDriver> edge)
    : tasks_(tasks),
      cloud_(cloud),
      low_ports_(low_ports),
      edge_(std::move(edge)),
      wake_(tasks.signal()) {
  // What was there before this one came is carried too.
  for (std::string& lb : cloud_.load_balancer_ids()) again_.insert(std::move(lb));
  task_ = tasks_.spawn("carrier", [this](const std::stop_token& stop) { run(stop); });
}

Carrier::~Carrier() = default;

void Carrier::follow(std::stop_token stop) {
  const std::shared_ptr<Signal> done = tasks_.signal();
  {
    const MutexLock lock(mu_);
    waiting_.push_back(done);
  }
  wake_->notify();
  (void)tasks_.wait(*done, tasks_.now() + kPatience, std::move(stop));
}

void Carrier::run(const std::stop_token& stop) {
  const Context context{.tasks = tasks_, .stop = stop};
  while (!stop.stop_requested()) {
    std::vector<std::shared_ptr<Signal>> waiting;
    {
      const MutexLock lock(mu_);
      waiting.swap(waiting_);
    }
    carry_all(context);
    for (const std::shared_ptr<Signal>& done : waiting) done->notify();
    (void)tasks_.wait(*wake_, tasks_.now() + kLook, stop);
  }
}

void Carrier::carry_all(const Context& context) {
  cloud_.advance(tasks_.wall_time());
  std::set<std::string> changed = cloud_.take_changed();
  changed.merge(again_);
  again_.clear();
  for (const std::string& lb : changed)
    if (!carry(context, lb)) again_.insert(lb);
}

bool Carrier::carry(const Context& context, const std::string& lb) {
  const std::optional<tencent::LoadBalancer> cloud = cloud_.load_balancer(lb);
  const lb::Place place{{.id = lb}};
  Listeners& there = carried_[lb];
  Wished wished;
  Notes notes;
  bool complete = true;
  for (const auto& [id, listener] :
       cloud ? cloud->listeners : std::map<std::string, tencent::Listener>{}) {
    Result<model::ListenerSpec> spec = carried_as(listener);
    if (spec) {
      wished.emplace(id, std::move(*spec));
    } else {
      notes[id] = spec.error().message;
    }
  }
  close_others(context, place, there, wished);
  open_new(context, place, there, wished, notes);
  set_rules(context, place, there, wished, notes);
  lead(context, place, there, wished, notes);
  for (const auto& [id, spec] : wished) {
    complete = complete && !notes.contains(id);
    if (!notes.contains(id)) notes[id] = where(cloud->vips, spec);
  }
  cloud_.tell_traffic(lb, std::move(notes));
  if (there.empty()) carried_.erase(lb);
  return complete;
}

void Carrier::close_others(const Context& context, const lb::Place& place, Listeners& there,
                           const Wished& wished) {
  std::vector<model::ListenerId> gone;
  std::erase_if(there, [&](const auto& entry) {
    const auto& [id, carried] = entry;
    const auto it = wished.find(id);
    const bool stays = it != wished.end() && is_same_listener(it->second, carried.spec);
    if (!stays) gone.push_back(carried.at_edge);
    return !stays;
  });
  if (!gone.empty()) (void)edge_->remove(context, place, gone);
}

// Without what it leads to: of layer 7 without rules, too.
void Carrier::open_new(const Context& context, const lb::Place& place, Listeners& there,
                       const Wished& wished, Notes& notes) {
  for (const auto& [id, spec] : wished) {
    if (there.contains(id)) continue;
    model::ListenerSpec fresh = model::without_targets(spec);
    if (model::is_layer7(spec.protocol)) fresh.rules.clear();
    Result<model::ListenerId> made = edge_->create(context, place, {&fresh, 1}).front();
    if (made) {
      there.emplace(id, Carried{.at_edge = std::move(*made), .spec = std::move(fresh)});
    } else {
      notes[id] = made.error().to_string();
    }
  }
}

void Carrier::set_rules(const Context& context, const lb::Place& place, Listeners& there,
                        const Wished& wished, Notes& notes) {
  for (auto& [id, carried] : there) {
    const model::ListenerSpec& spec = wished.at(id);
    std::vector<model::Rule>& rules = carried.spec.rules;
    std::erase_if(rules, [&](const model::Rule& rule) {
      const lb::RuleRef gone{carried.at_edge, rule.key};
      return model::find_rule(spec, rule.key) == nullptr &&
             edge_->remove_rules(context, place, {&gone, 1}).front();
    });
    for (const model::Rule& rule : spec.rules) {
      model::Rule* const known = model::find_rule(carried.spec, rule.key);
      if (known != nullptr && known->attributes == rule.attributes) continue;
      const lb::RuleRef at{carried.at_edge, rule.key};
      const lb::NewRule fresh{at, rule.attributes};
      const lb::RuleChange change{at, rule.attributes};
      const Result<> done = known == nullptr
                                ? edge_->create_rules(context, place, {&fresh, 1}).front()
                                : edge_->change_rules(context, place, {&change, 1}).front();
      if (!done) {
        notes[id] = done.error().to_string();
      } else if (known == nullptr) {
        rules.push_back({.key = rule.key, .attributes = rule.attributes});
        model::sort(carried.spec);
      } else {
        known->attributes = rule.attributes;
      }
    }
  }
}

void Carrier::lead(const Context& context, const lb::Place& place, Listeners& there,
                   const Wished& wished, Notes& notes) {
  std::vector<std::pair<std::string, model::Rule*>> led;  // what each change is for
  std::vector<lb::TargetChange> changes;
  for (auto& [id, carried] : there) {
    for (model::Rule& rule : carried.spec.rules) {
      const model::Rule* const wish = model::find_rule(wished.at(id), rule.key);
      if (wish == nullptr) continue;
      lb::TargetChange change =
          lb::target_change({carried.at_edge, rule.key}, wish->targets, rule.targets);
      if (change.add.empty() && change.remove.empty()) continue;
      led.emplace_back(id, &rule);
      changes.push_back(std::move(change));
    }
  }
  const std::vector<Result<>> outcomes = edge_->change_targets(context, place, changes);
  for (std::size_t i = 0; i < led.size(); ++i) {
    const auto& [id, rule] = led[i];
    if (outcomes[i]) {
      rule->targets = model::find_rule(wished.at(id), rule->key)->targets;
    } else {
      notes[id] = outcomes[i].error().to_string();
    }
  }
}

// "open at 127.80.1.2:31000-31004".
std::string Carrier::where(const std::vector<std::string>& vips,
                           const model::ListenerSpec& spec) const {
  if (!model::leads_somewhere(spec)) return "waits for a target";
  std::string out;
  for (const std::string& vip : vips) {
    for (const model::PortRange& ports : low_ports_.opened_at(spec.ports)) {
      out += fmt::format("{}{}:{}", out.empty() ? "open at " : ", ", loopback_of(vip), ports.first);
      if (ports.last > ports.first) out += fmt::format("-{}", ports.last);
    }
  }
  return out.empty() ? "the load balancer has no address" : out;
}

}  // namespace berth::sim::traffic
