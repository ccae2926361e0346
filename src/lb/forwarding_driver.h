// A driver in front of another: hands every call on. Who wants to change some calls overrides
// those. Thread-safe as the driver behind it, which outlives it.
#pragma once

#include "lb/driver.h"

namespace berth::lb {

class ForwardingDriver : public Driver {
 public:
  explicit ForwardingDriver(Driver& inner) : inner_(inner) {}

  const model::Abilities& abilities() const override { return inner_.abilities(); }
  bool can_change(const model::ListenerAttributes& there,
                  const model::ListenerAttributes& wished) const override {
    return inner_.can_change(there, wished);
  }
  bool can_change(const model::RuleAttributes& there,
                  const model::RuleAttributes& wished) const override {
    return inner_.can_change(there, wished);
  }
  Result<model::LoadBalancerInfo> describe(const Context& context,
                                           const model::LoadBalancerRef& lb) override {
    return inner_.describe(context, lb);
  }
  Result<std::vector<ObservedListener>> list(const Context& context,
                                             const model::LoadBalancerRef& lb) override {
    return inner_.list(context, lb);
  }
  std::vector<Result<model::ListenerId>> create(
      const Context& context, const model::LoadBalancerRef& lb,
      std::span<const model::ListenerSpec> wanted) override {
    return inner_.create(context, lb, wanted);
  }
  std::vector<Result<>> remove(const Context& context, const model::LoadBalancerRef& lb,
                               std::span<const model::ListenerId> ids) override {
    return inner_.remove(context, lb, ids);
  }
  std::vector<Result<>> change(const Context& context, const model::LoadBalancerRef& lb,
                               std::span<const ListenerChange> changes) override {
    return inner_.change(context, lb, changes);
  }
  std::vector<Result<>> create_rules(const Context& context, const model::LoadBalancerRef& lb,
                                     std::span<const NewRule> wanted) override {
    return inner_.create_rules(context, lb, wanted);
  }
  std::vector<Result<>> remove_rules(const Context& context, const model::LoadBalancerRef& lb,
                                     std::span<const RuleRef> rules) override {
    return inner_.remove_rules(context, lb, rules);
  }
  std::vector<Result<>> change_rules(const Context& context, const model::LoadBalancerRef& lb,
                                     std::span<const RuleChange> changes) override {
    return inner_.change_rules(context, lb, changes);
  }
  std::vector<Result<>> change_targets(const Context& context, const model::LoadBalancerRef& lb,
                                       std::span<const TargetChange> changes) override {
    return inner_.change_targets(context, lb, changes);
  }
  std::vector<TargetHealth> health(const model::LoadBalancerRef& lb) const override {
    return inner_.health(lb);
  }

 protected:
  Driver& inner_;
};

}  // namespace berth::lb
