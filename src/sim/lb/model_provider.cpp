#include "sim/lb/model_provider.h"

#include "lb/questions.h"

#include <algorithm>

namespace berth::sim::lb {
namespace {

using berth::lb::ListenerChange;
using berth::lb::NewRule;
using berth::lb::ObservedListener;
using berth::lb::Place;
using berth::lb::RuleChange;
using berth::lb::RuleRef;
using berth::lb::TargetChange;
using model::ListenerId;
using model::ListenerSpec;
using model::LoadBalancerRef;

constexpr std::array<std::string_view, kCalls> kCallNames{"describe",
                                                          "search",
                                                          "list",
                                                          "look_up",
                                                          "create",
                                                          "remove",
                                                          "change_listeners",
                                                          "create_rules",
                                                          "remove_rules",
                                                          "change_rules",
                                                          "targets",
                                                          "list_groups",
                                                          "create_groups",
                                                          "remove_groups",
                                                          "make",
                                                          "tag",
                                                          "remove_load_balancer"};

std::size_t index_of(Call call) { return static_cast<std::size_t>(call); }

const ListenerId& listener_of(const ListenerChange& change) { return change.listener; }
template <class C>
const ListenerId& listener_of(const C& change) {
  return change.rule.listener;
}

}  // namespace

std::string_view to_string(Call call) { return kCallNames[index_of(call)]; }

ModelProvider::ModelProvider(ModelOptions options)
    : options_(std::move(options)), random_(options_.seed), quota_(options_.listener_quota) {}

// --- The test's side.

void ModelProvider::add_load_balancer(const LoadBalancerRef& lb, model::LoadBalancerInfo info) {
  const MutexLock lock(mu_);
  if (info.name.empty()) info.name = lb.id;
  if (info.vips.empty()) info.vips = {"vip-of-" + lb.id};
  balancers_[lb].info = std::move(info);
  balancers_[lb].account = lb.account;
}

ListenerId ModelProvider::add_listener(const LoadBalancerRef& lb, ListenerSpec spec) {
  ListenerId id;
  {
    const MutexLock lock(mu_);
    Balancer& balancer = *find_balancer(lb);
    id = ListenerId(fmt::format("lbl-{}", next_id_++));
    sort(spec);
    insert(lb, balancer, {id, std::move(spec)});
  }
  tell();
  return id;
}

void ModelProvider::remove_listener(const LoadBalancerRef& lb, const ListenerId& id) {
  {
    const MutexLock lock(mu_);
    (void)remove_one(lb, id);
  }
  tell();
}

void ModelProvider::remove_load_balancer(const LoadBalancerRef& lb) {
  const MutexLock lock(mu_);
  balancers_.erase(lb);
}

void ModelProvider::set_faults(Faults faults) {
  const MutexLock lock(mu_);
  faults_ = std::move(faults);
}

void ModelProvider::script(Call call, Scripted next) {
  const MutexLock lock(mu_);
  scripts_[index_of(call)].push_back(std::move(next));
}

void ModelProvider::set_quota(std::uint32_t listeners) {
  const MutexLock lock(mu_);
  quota_ = listeners;
}

void ModelProvider::observe(std::function<void(const Change&)> observer) {
  const MutexLock lock(mu_);
  observer_ = std::move(observer);
}

void ModelProvider::advance(Instant now) {
  {
    const MutexLock lock(mu_);
    land_due(now);
  }
  tell();
}

bool ModelProvider::tasks_under_way() const {
  const MutexLock lock(mu_);
  return std::any_of(tasks_.begin(), tasks_.end(),
                     [](const auto& task) { return !task.second.results; });
}

std::vector<LoadBalancerRef> ModelProvider::load_balancers() const {
  const MutexLock lock(mu_);
  std::vector<LoadBalancerRef> out;
  for (const auto& [lb, balancer] : balancers_) out.push_back(lb);
  return out;
}

std::vector<ObservedListener> ModelProvider::listeners(const LoadBalancerRef& lb) const {
  const MutexLock lock(mu_);
  std::vector<ObservedListener> out;
  const auto it = balancers_.find(lb);
  if (it == balancers_.end()) return out;
  for (const auto& [id, listener] : it->second.listeners) out.push_back(listener);
  return out;
}

std::optional<ObservedListener> ModelProvider::find(const LoadBalancerRef& lb,
                                                    model::Transport transport,
                                                    model::Port port) const {
  const MutexLock lock(mu_);
  const auto it = balancers_.find(lb);
  if (it == balancers_.end()) return std::nullopt;
  for (const auto& [id, listener] : it->second.listeners) {
    if (takes(listener.spec.protocol, transport) && listener.spec.ports.contains(port)) {
      return listener;
    }
  }
  return std::nullopt;
}

std::uint64_t ModelProvider::calls(Call call) const {
  const MutexLock lock(mu_);
  return calls_[index_of(call)];
}

std::uint64_t ModelProvider::calls() const {
  const MutexLock lock(mu_);
  std::uint64_t sum = 0;
  for (const std::uint64_t count : calls_) sum += count;
  return sum;
}

std::size_t ModelProvider::largest_batch(Call call) const {
  const MutexLock lock(mu_);
  return largest_[index_of(call)];
}

// --- The driver's side.

Duration ModelProvider::draw_latency() {
  const Duration span = options_.max_latency - options_.min_latency;
  if (span <= Duration::zero()) return options_.min_latency;
  const MutexLock lock(mu_);
  return options_.min_latency + Duration{static_cast<Duration::rep>(
                                    random_.below(static_cast<std::uint64_t>(span.count())))};
}

Result<std::vector<ObservedListener>> ModelProvider::list(const Place& place, Instant now) {
  return read(Call::list, place, now);
}

Result<std::vector<ObservedListener>> ModelProvider::look_up(
    const Place& place, std::span<const berth::lb::Question> questions, Instant now) {
  Result<std::vector<ObservedListener>> all = read(Call::look_up, place, now);
  if (!all) return all;
  return berth::lb::answers_among(std::move(*all), questions);
}

Result<std::vector<ObservedListener>> ModelProvider::read(Call call, const Place& place,
                                                          Instant now) {
  advance(now);
  const MutexLock lock(mu_);
  count(call, 1);
  count(place);
  if (auto error = next_read_error(call)) return fail(std::move(*error));
  const Result<Balancer*> balancer = reach(place);
  if (!balancer) return fail(balancer.error());
  std::vector<ObservedListener> out;
  for (const auto& [id, listener] : (*balancer)->listeners) out.push_back(listener);
  for (const auto& [id, group] : (*balancer)->groups)
    if (group.user.empty()) out.push_back(half_of(id, group));
  return out;
}

Reply ModelProvider::create(const Place& place, std::vector<ListenerSpec> wanted, Instant now) {
  const Batch batch{wanted.size(), wanted.size()};
  return write(Call::create, place, batch, now,
               [this, lb = place.lb, wanted = std::move(wanted)](std::size_t i)
                   REQUIRES(mu_) { return create_one(lb, wanted[i]); });
}

Reply ModelProvider::remove(const Place& place, std::vector<ListenerId> ids, Instant now) {
  const Batch batch{ids.size(), ids.size()};
  return write(Call::remove, place, batch, now,
               [this, lb = place.lb, ids = std::move(ids)](std::size_t i)
                   REQUIRES(mu_) { return remove_one(lb, ids[i]); });
}

template <class C>
Reply ModelProvider::write_changes(Call call, const Place& place, std::vector<C> changes,
                                   std::size_t load, Instant now) {
  const Batch batch{changes.size(), load};
  return write(call, place, batch, now,
               [this, lb = place.lb, changes = std::move(changes)](std::size_t i) REQUIRES(mu_) {
                 const C& change = changes[i];
                 return change_one(lb, listener_of(change),
                                   [&](ListenerSpec& spec) { return edit(spec, change); });
               });
}

Reply ModelProvider::change(const Place& place, std::vector<ListenerChange> changes, Instant now) {
  const std::size_t load = changes.size();
  return write_changes(Call::change_listeners, place, std::move(changes), load, now);
}

Reply ModelProvider::create_rules(const Place& place, std::vector<NewRule> wanted, Instant now) {
  const Batch batch{wanted.size(), wanted.size()};
  return write(Call::create_rules, place, batch, now,
               [this, lb = place.lb, wanted = std::move(wanted)](std::size_t i)
                   REQUIRES(mu_) { return create_rule(lb, wanted[i]); });
}

Reply ModelProvider::remove_rules(const Place& place, std::vector<RuleRef> rules, Instant now) {
  const Batch batch{rules.size(), rules.size()};
  return write(Call::remove_rules, place, batch, now,
               [this, lb = place.lb, rules = std::move(rules)](std::size_t i)
                   REQUIRES(mu_) { return remove_one(lb, rules[i]); });
}

Reply ModelProvider::change_rules(const Place& place, std::vector<RuleChange> changes,
                                  Instant now) {
  const std::size_t load = changes.size();
  return write_changes(Call::change_rules, place, std::move(changes), load, now);
}

Reply ModelProvider::change_targets(const Place& place, std::vector<TargetChange> changes,
                                    Instant now) {
  std::size_t load = 0;
  for (const TargetChange& change : changes) load += change.add.size() + change.remove.size();
  return write_changes(Call::targets, place, std::move(changes), load, now);
}

std::optional<ModelProvider::Results> ModelProvider::results_of(std::uint64_t task, Instant now) {
  advance(now);
  const MutexLock lock(mu_);
  const auto it = tasks_.find(task);
  if (it == tasks_.end() || !it->second.results) return std::nullopt;
  Results results = std::move(*it->second.results);
  tasks_.erase(it);
  return results;
}

}  // namespace berth::sim::lb
