#include "cloud/tencent/rule_book.h"

namespace berth::cloud::tencent {

using lb::RuleRef;
using model::ListenerId;
using model::LoadBalancerRef;

KnownRule* RuleBook::at(const LoadBalancerRef& lb, const RuleRef& rule) {
  const auto balancer = balancers_.find(lb);
  if (balancer == balancers_.end()) return nullptr;
  const auto listener = balancer->second.find(rule.listener);
  if (listener == balancer->second.end()) return nullptr;
  const auto it = listener->second.find(rule.key);
  return it == listener->second.end() ? nullptr : &it->second;
}

std::optional<KnownRule> RuleBook::find(const LoadBalancerRef& lb, const RuleRef& rule) const {
  const MutexLock lock(mu_);
  const auto balancer = balancers_.find(lb);
  if (balancer == balancers_.end()) return std::nullopt;
  const auto listener = balancer->second.find(rule.listener);
  if (listener == balancer->second.end()) return std::nullopt;
  const auto it = listener->second.find(rule.key);
  if (it == listener->second.end()) return std::nullopt;
  return it->second;
}

void RuleBook::note(const LoadBalancerRef& lb, const ListenerTargets& read) {
  Rules rules;
  for (const RuleTargets& one : read.rules) {
    KnownRule& rule = rules[one.rule.key];
    rule.location = one.location;
    for (const model::WeightedTarget& target : one.targets)
      rule.weights[target.target] = target.weight;
  }
  const MutexLock lock(mu_);
  balancers_[lb][read.listener] = std::move(rules);
}

void RuleBook::add_listener(const LoadBalancerRef& lb, const ListenerId& listener, bool is_layer7) {
  const MutexLock lock(mu_);
  Rules& rules = balancers_[lb][listener];
  rules.clear();
  if (!is_layer7) rules.try_emplace({});
}

void RuleBook::add_rule(const LoadBalancerRef& lb, const RuleRef& rule, std::string location) {
  const MutexLock lock(mu_);
  balancers_[lb][rule.listener][rule.key] = KnownRule{.location = std::move(location)};
}

void RuleBook::put_target(const LoadBalancerRef& lb, const RuleRef& rule,
                          const model::WeightedTarget& target) {
  const MutexLock lock(mu_);
  if (KnownRule* const known = at(lb, rule)) known->weights[target.target] = target.weight;
}

void RuleBook::erase_target(const LoadBalancerRef& lb, const RuleRef& rule,
                            const model::Target& target) {
  const MutexLock lock(mu_);
  if (KnownRule* const known = at(lb, rule)) known->weights.erase(target);
}

void RuleBook::forget(const LoadBalancerRef& lb, const ListenerId& listener) {
  const MutexLock lock(mu_);
  const auto balancer = balancers_.find(lb);
  if (balancer != balancers_.end()) balancer->second.erase(listener);
}

void RuleBook::forget(const LoadBalancerRef& lb) {
  const MutexLock lock(mu_);
  balancers_.erase(lb);
}

}  // namespace berth::cloud::tencent
