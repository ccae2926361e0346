// The provider's inside: which fault strikes, when a write lands, and who hears of it.
#include <algorithm>

#include "sim/lb/model_provider.h"

namespace berth::sim::lb {
namespace {

using berth::lb::Place;
using model::ListenerId;
using model::LoadBalancerRef;

constexpr Duration kBusyRetry = std::chrono::seconds{1};

std::size_t index_of(Call call) { return static_cast<std::size_t>(call); }

}  // namespace

Reply ModelProvider::write(Call call, const Place& place, Batch batch, Instant now, Apply apply) {
  Reply reply;
  {
    const MutexLock lock(mu_);
    land_due(now);
    reply = write_locked(call, place, batch, now, std::move(apply));
  }
  tell();
  return reply;
}

Reply ModelProvider::write_locked(Call call, const Place& place, Batch batch, Instant now,
                                  Apply apply) {
  const auto refuse = [&](const Error& error) {
    return Reply{.results = Results(batch.size, Result<ListenerId>(fail(error)))};
  };
  count(call, batch.size);
  count(place);
  if (batch.load > batch_bound(call)) {
    return refuse(error_of(Code::invalid, "{} entries are more than a call takes", batch.load));
  }
  const std::optional<Scripted> fault = next_fault(call);
  if (fault && fault->kind == Scripted::Kind::error) return refuse(fault->error);
  if (const auto error = write_error(call, place)) return refuse(*error);
  if (fault && fault->kind == Scripted::Kind::slow) {
    const std::uint64_t task = next_task_++;
    const Instant over = saturating_add(now, fault->slow_for);
    tasks_.emplace(task, SlowTask{place.lb, over, batch.size, std::move(apply), std::nullopt});
    if (call != Call::make) find_balancer(place.lb)->task = task;
    return {.results = {}, .task = task, .task_over = over};
  }
  Reply reply{.results = apply_all(batch.size, apply)};
  if (fault) return refuse(error_of(Code::timeout, "the reply was lost"));
  return reply;
}

std::optional<Error> ModelProvider::write_error(Call call, const Place& place) {
  if (call == Call::make) return std::nullopt;  // there is nothing yet that could be busy
  const Result<Balancer*> balancer = reach(place);
  if (!balancer) return balancer.error();
  if ((*balancer)->task == 0 || !options_.limits.serial_writes) return std::nullopt;
  Error busy = error_of(Code::unavailable, "the load balancer is being changed");
  busy.retry_after = kBusyRetry;
  return busy;
}

std::size_t ModelProvider::batch_bound(Call call) const {
  switch (call) {
    case Call::create:
    case Call::change_listeners: return options_.limits.create_batch;
    case Call::remove: return options_.limits.remove_batch;
    case Call::create_rules:
    case Call::remove_rules:
    case Call::change_rules: return options_.limits.rule_batch;
    case Call::targets: return options_.limits.target_batch;
    case Call::create_groups:
    case Call::remove_groups: return group_batch(options_.limits);
    case Call::describe:
    case Call::search:
    case Call::look_up:
    case Call::list:
    case Call::list_groups:
    case Call::make:
    case Call::tag:
    case Call::remove_load_balancer: break;
  }
  return 1;
}

std::optional<Scripted> ModelProvider::next_fault(Call call) {
  auto& script = scripts_[index_of(call)];
  if (!script.empty()) {
    Scripted next = std::move(script.front());
    script.pop_front();
    return next;
  }
  if (auto error = next_read_error(call)) return Scripted{Scripted::Kind::error, *error, {}};
  if (random_.chance(faults_.lost_reply)) return Scripted{Scripted::Kind::lost_reply, {}, {}};
  if (random_.chance(faults_.slow)) {
    return Scripted{Scripted::Kind::slow, {}, random_.jittered(faults_.slow_for, 1)};
  }
  return std::nullopt;
}

std::optional<Error> ModelProvider::next_read_error(Call call) {
  auto& script = scripts_[index_of(call)];
  if (!script.empty()) {
    const Scripted next = std::move(script.front());
    script.pop_front();
    if (next.kind == Scripted::Kind::error) return next.error;
    return error_of(Code::timeout, "no answer came");
  }
  if (random_.chance(faults_.throttled)) {
    Error error = error_of(Code::throttled, "too many requests");
    error.retry_after = faults_.retry_after;
    return error;
  }
  if (random_.chance(faults_.unavailable)) {
    return error_of(Code::unavailable, "the provider does not answer");
  }
  return std::nullopt;
}

ModelProvider::Results ModelProvider::apply_all(std::size_t size, const Apply& apply) {
  Results results;
  for (std::size_t i = 0; i < size; ++i) {
    if (!faults_.partial_codes.empty() && random_.chance(faults_.partial)) {
      const Code code = faults_.partial_codes[random_.below(faults_.partial_codes.size())];
      // Of a timeout nobody knows whether it took effect.
      if (code == Code::timeout && random_.chance(0.5)) (void)apply(i);
      results.emplace_back(fail(code, "entry {} failed", i));
    } else {
      results.push_back(apply(i));
    }
  }
  return results;
}

ModelProvider::Balancer* ModelProvider::find_balancer(const LoadBalancerRef& lb) {
  const auto it = balancers_.find(lb);
  if (it != balancers_.end()) return &it->second;
  if (options_.strict) return nullptr;
  Balancer& fresh = balancers_[lb];
  fresh.info = {.name = lb.id, .vips = {"vip-of-" + lb.id}};
  fresh.account = lb.account;
  return &fresh;
}

void ModelProvider::land_due(Instant now) {
  for (auto& [id, task] : tasks_) {
    if (task.results || task.over > now) continue;
    task.results = apply_all(task.size, task.apply);
    task.apply = {};
    const auto it = balancers_.find(task.lb);
    if (it == balancers_.end() || it->second.task != id) continue;
    it->second.task = 0;
    it->second.ending = false;  // it is still there: it could not be removed
  }
}

void ModelProvider::count(Call call, std::size_t size) {
  ++calls_[index_of(call)];
  largest_[index_of(call)] = std::max(largest_[index_of(call)], size);
}

void ModelProvider::changed(Change change) {
  if (observer_) untold_.push_back(std::move(change));
}

void ModelProvider::tell() {
  std::vector<Change> changes;
  std::function<void(const Change&)> observer;
  {
    const MutexLock lock(mu_);
    if (untold_.empty()) return;
    changes.swap(untold_);
    observer = observer_;
  }
  for (const Change& change : changes) observer(change);
}

}  // namespace berth::sim::lb
