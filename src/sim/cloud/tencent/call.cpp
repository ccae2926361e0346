#include "sim/cloud/tencent/call.h"

#include <algorithm>

namespace berth::sim::tencent {
namespace {

std::unexpected<ApiError> busy(const Call& call, const std::string& lb, const Task* task) {
  constexpr const char* kCode = "FailedOperation.ResourceInOperating";
  if (call.settings().unsure.busy_names_the_task && task != nullptr) {
    return refuse(kCode,
                  "Your task is working ({}). Pls wait for the task to complete and try again.",
                  task->action);
  }
  return refuse(kCode,
                "Loadbalancer({}) is not in normal desState, maybe some tasks are being processed, "
                "please try later.",
                lb);
}

}  // namespace

LoadBalancer* find_load_balancer(const Call& call, const std::string& id) {
  const auto it = call.state.load_balancers.find(id);
  if (it == call.state.load_balancers.end()) return nullptr;
  LoadBalancer& lb = it->second;
  return lb.account == call.account.uin && lb.region == call.region ? &lb : nullptr;
}

Outcome<LoadBalancer*> load_balancer(const Call& call, const std::string& id) {
  if (LoadBalancer* lb = find_load_balancer(call, id)) return lb;
  return refuse("InvalidParameter.LBIdNotFound", "LoadBalancer not exist, {}", id);
}

Outcome<LoadBalancer*> writable(const Call& call, const std::string& id) {
  auto lb = load_balancer(call, id);
  if (!lb) return lb;
  const Task* holder = call.tasks.holder(call.state, id, call.now);
  if (holder != nullptr || !(*lb)->normal) return busy(call, id, holder);
  return lb;
}

Outcome<Listener*> listener(LoadBalancer& lb, const std::string& id) {
  const auto it = lb.listeners.find(id);
  if (it != lb.listeners.end()) return &it->second;
  return refuse("InvalidParameter.ListenerIdNotFound", "Listener {} of {} not found", id, lb.id);
}

Outcome<Rule*> rule(Listener& listener, const Params& where) {
  const std::string id = where.text("LocationId");
  if (!is_layer7(listener.protocol)) {
    if (id.empty()) return &listener.rules.front();
    return refuse("InvalidParameter.LocationNotFound", "Listener {} has no location {}",
                  listener.id, id);
  }
  if (!id.empty()) {
    if (Rule* found = find_rule(listener, id)) return found;
    return refuse("InvalidParameter.LocationNotFound", "Location {} not found", id);
  }
  const std::string domain = where.text("Domain");
  const std::string url = where.text("Url");
  if (domain.empty() || url.empty()) {
    return refuse("MissingParameter",
                  "A layer 7 listener needs `LocationId`, or `Domain` and `Url`.");
  }
  const auto found = std::ranges::find_if(
      listener.rules, [&](const Rule& one) { return one.has_domain(domain) && one.url == url; });
  if (found != listener.rules.end()) return &*found;
  return refuse("InvalidParameter.LocationNotFound", "Location {}{} not found", domain, url);
}

Outcome<> applies(const Call& call, const Params& in, std::string_view parameter, bool applicable) {
  if (applicable || !in.has(parameter) || !call.settings().unsure.inapplicable_is_refused)
    return {};
  return refuse("InvalidParameterValue", "`{}` does not apply to this protocol.", parameter);
}

namespace {

void begin(Call& call, std::vector<std::string> load_balancers, Duration takes, Effect effect,
           Effect undo) {
  const std::string lb = load_balancers.empty() ? "" : load_balancers.front();
  if (const auto slow = call.faults.take(FaultKind::slow_task, call.action, lb))
    takes = slow->duration;
  const auto failed = call.faults.take(FaultKind::fail_task, call.action, lb);
  Task task{.id = call.request_id,
            .account = call.account.uin,
            .action = call.action,
            .load_balancers = std::move(load_balancers),
            .began = call.now,
            .ends = call.now + takes,
            .effect = std::move(effect),
            .undo = std::move(undo)};
  if (failed) task.fails_with = failed->error.message;
  call.tasks.begin(call.state, std::move(task));
}

}  // namespace

void begin_task(Call& call, std::vector<std::string> load_balancers, Effect effect, Effect undo) {
  begin(call, std::move(load_balancers), call.settings().tasks.of_action(call.action),
        std::move(effect), std::move(undo));
}

void do_at_once(Call& call, std::vector<std::string> load_balancers, Effect effect) {
  begin(call, std::move(load_balancers), Duration{}, std::move(effect), {});
}

}  // namespace berth::sim::tencent
