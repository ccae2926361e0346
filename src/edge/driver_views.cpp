// What the driver says of itself: health of targets, what was carried, files in use.
#include <algorithm>

#include "edge/driver.h"
#include "edge/site_rules.h"

namespace berth::edge {

std::size_t EdgeDriver::connections() const {
  std::size_t sum = 0;
  const MutexLock lock(mu_);
  for (const ListenerRecord* record : table_.all())
    if (record->listener) sum += record->listener->counters.read().active;
  // HAProxy itself knows best: it ends with the last of them.
  if (supervisor_ && supervisor_->runs()) sum += std::max<std::size_t>(site_book_.active(), 1);
  return sum;
}

Tallies EdgeDriver::totals() const {
  // Those that are gone first: one that goes meanwhile is missing for once, and never counted
  // twice.
  Tallies out = book_->sums();
  const MutexLock lock(mu_);
  for (const ListenerRecord* record : table_.all())
    if (record->listener)
      out[{record->lb, record->spec.transport}] += record->listener->counters.read();
  return out;
}

FdUse EdgeDriver::files() const {
  const FdBudget& budget = plane_->budget();
  return {.used = budget.used(),
          .budget = budget.most(),
          .listening = budget.listening(),
          .for_listening = budget.for_listening()};
}

std::optional<haproxy::Counts> EdgeDriver::haproxy() const {
  const MutexLock lock(mu_);
  if (!supervisor_) return std::nullopt;
  return supervisor_->counts();
}

void EdgeDriver::add_health(const ListenerRecord& record, const std::optional<model::RuleKey>& key,
                            std::vector<lb::TargetHealth>& out) const {
  if (is_site(record.spec.protocol)) {
    const std::string site = site_name(record);
    for (const model::Rule& rule : record.spec.rules) {
      if (key && *key != rule.key) continue;
      const std::string route = route_name(site, rule.key);
      for (const auto& [target, weight] : rule.targets)
        out.push_back({{record.id, rule.key}, target, site_book_.health(route, target)});
    }
    return;
  }
  if (key && !key->empty()) return;
  for (const BackendPtr& backend : record.listener->backends()) {
    lb::Health health = lb::Health::unknown;
    if (is_checked(record.spec) && backend->judged)
      health = backend->healthy ? lb::Health::healthy : lb::Health::unhealthy;
    out.push_back({{record.id, {}}, backend->target, health});
  }
}

std::vector<lb::TargetHealth> EdgeDriver::last(const model::LoadBalancerRef& lb) const {
  std::vector<lb::TargetHealth> out;
  const MutexLock lock(mu_);
  for (const ListenerRecord* record : table_.of(lb)) add_health(*record, std::nullopt, out);
  return out;
}

std::unique_ptr<lb::Following> EdgeDriver::follow(const lb::Place& place, const lb::RuleRef& rule,
                                                  OnHealth on_health) {
  return followers_.follow(place, rule, std::move(on_health));
}

EdgeSnapshot EdgeDriver::snapshot() const {
  EdgeSnapshot out{.fds_used = plane_->budget().used(), .fd_budget = plane_->budget().most()};
  const MutexLock lock(mu_);
  for (const ListenerRecord* record : table_.all()) {
    if (!record->listener) continue;
    ListenerSnapshot one{record->listener->counters.read()};
    one.lb = record->lb;
    one.id = record->id;
    one.name = record->spec.name;
    one.protocol = record->spec.transport;
    one.ports = record->spec.ports;
    one.open = record->open;
    for (const BackendPtr& backend : record->listener->backends())
      one.targets.push_back(
          {{backend->target, backend->weight}, backend->healthy, backend->chosen, backend->active});
    out.listeners.push_back(std::move(one));
  }
  return out;
}

}  // namespace berth::edge
