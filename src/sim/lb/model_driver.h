// The driver of a ModelProvider: a process's way to it.
//
// In simulation every call is a seam call of the process, so a crash can strike on both sides of
// it; on threads (benches) it is a plain call that takes the provider's latency. Thread-safe; the
// provider outlives it.
#pragma once

#include "lb/budget.h"
#include "lb/driver.h"
#include "lb/health_followers.h"
#include "sim/kernel/kernel.h"
#include "sim/lb/model_provider.h"

namespace berth::sim::lb {

class ModelDriver final : public berth::lb::Listeners,
                          public berth::lb::Directory,
                          public berth::lb::HealthFeed,
                          public berth::lb::Maker {
 public:
  ModelDriver(ModelProvider& provider, Process& process)
      : provider_(provider), process_(&process) {}
  // Without simulation.
  explicit ModelDriver(ModelProvider& provider) : provider_(provider) {}

  const model::Abilities& abilities() const override { return provider_.abilities(); }
  bool can_change(const model::ListenerAttributes& there,
                  const model::ListenerAttributes& wished) const override {
    return provider_.can_change(there, wished);
  }
  bool can_change(const model::RuleAttributes& there,
                  const model::RuleAttributes& wished) const override {
    return provider_.can_change(there, wished);
  }
  Instant free_at(const berth::lb::Place& place, berth::lb::Action action, std::size_t calls,
                  Instant now) const override;
  std::vector<Result<model::LoadBalancerInfo>> describe(
      const Context& context, const model::CredentialId& credential,
      std::span<const model::LoadBalancerRef> lbs) override;
  Result<std::vector<berth::lb::FoundLoadBalancer>> search(
      const Context& context, const model::CredentialId& credential,
      const berth::lb::DirectoryQuery& query) override;
  Result<std::vector<berth::lb::ObservedListener>> list(const Context& context,
                                                        const berth::lb::Place& place) override;
  Result<std::vector<berth::lb::ObservedListener>> look_up(
      const Context& context, const berth::lb::Place& place,
      std::span<const berth::lb::Question> questions) override;
  std::vector<Result<model::ListenerId>> create(
      const Context& context, const berth::lb::Place& place,
      std::span<const model::ListenerSpec> wanted) override;
  std::vector<Result<>> remove(const Context& context, const berth::lb::Place& place,
                               std::span<const model::ListenerId> ids) override;
  std::vector<Result<>> change(const Context& context, const berth::lb::Place& place,
                               std::span<const berth::lb::ListenerChange> changes) override;
  std::vector<Result<>> create_rules(const Context& context, const berth::lb::Place& place,
                                     std::span<const berth::lb::NewRule> wanted) override;
  std::vector<Result<>> remove_rules(const Context& context, const berth::lb::Place& place,
                                     std::span<const berth::lb::RuleRef> rules) override;
  std::vector<Result<>> change_rules(const Context& context, const berth::lb::Place& place,
                                     std::span<const berth::lb::RuleChange> changes) override;
  std::vector<Result<>> change_targets(const Context& context, const berth::lb::Place& place,
                                       std::span<const berth::lb::TargetChange> changes) override;

  std::vector<berth::lb::TargetHealth> last(const model::LoadBalancerRef& lb) const override {
    return provider_.health(lb);
  }
  std::unique_ptr<berth::lb::Following> follow(const berth::lb::Place& place,
                                               const berth::lb::RuleRef& rule,
                                               OnHealth on_health) override {
    return followers_.follow(place, rule, std::move(on_health));
  }
  // For tests: a health check finds this.
  void set_health(const model::LoadBalancerRef& lb, const berth::lb::TargetHealth& health) {
    provider_.set_health(lb, health);
    followers_.note_change(lb, health.rule);
  }
  std::vector<Result<model::LoadBalancerRef>> make(
      const Context& context, const model::CredentialId& credential,
      std::span<const berth::lb::NewLoadBalancer> wanted) override;
  std::vector<Result<>> remove(const Context& context, const model::CredentialId& credential,
                               std::span<const model::LoadBalancerRef> lbs,
                               const berth::lb::Tag& mark) override;

  berth::lb::Driver seams() {
    return {.listeners = this, .directory = this, .health = this, .maker = this};
  }

 private:
  using Results = std::vector<Result<model::ListenerId>>;
  // The budget of calls of this name, for the account and region of a load balancer.
  berth::lb::Budget& budget(std::string_view call, const model::LoadBalancerRef& lb) const;
  // Pays, then runs `apply(now)` on the provider's side: through the seam in simulation.
  template <class F>
  auto reach(const Context& context, berth::lb::Budget& budget, std::string_view label,
             Effect effect, F apply) ->
      typename SeamReplyOf<std::invoke_result_t<F&, Instant>>::type;
  // A write, and its task if it is a slow one: one result for each of `size` entries.
  template <class F>
  Results write(const Context& context, const model::LoadBalancerRef& lb, Call call,
                std::size_t size, F apply);
  Result<Results> await_task(const Context& context, const model::LoadBalancerRef& lb,
                             const Reply& reply);
  Result<model::LoadBalancerRef> make_one(const Context& context,
                                          const model::CredentialId& credential,
                                          const berth::lb::NewLoadBalancer& wanted);

  // Listeners and rules without their groups.
  Results create_bare(const Context& context, const berth::lb::Place& place,
                      std::vector<model::ListenerSpec> wanted);
  Results remove_bare(const Context& context, const berth::lb::Place& place,
                      std::vector<model::ListenerId> ids);
  Results create_bare(const Context& context, const berth::lb::Place& place,
                      std::vector<berth::lb::NewRule> wanted);
  Results remove_bare(const Context& context, const berth::lb::Place& place,
                      std::vector<berth::lb::RuleRef> rules);
  // With groups: first these, then what needs them.
  template <class Wanted>
  Results create_grouped(const Context& context, const berth::lb::Place& place,
                         std::span<const Wanted> wanted);
  template <class Gone>
  Results remove_grouped(const Context& context, const berth::lb::Place& place,
                         std::span<const Gone> gone);
  template <class Wanted>
  Results create_groups(const Context& context, const berth::lb::Place& place,
                        std::span<const Wanted> wanted);
  void discard_useless(const Context& context, const berth::lb::Place& place, const Results& groups,
                       Results& out);
  // One result for each list of ids: the first failure among them.
  Results remove_groups(const Context& context, const berth::lb::Place& place,
                        const std::vector<std::vector<model::ListenerId>>& ids);

  std::vector<berth::lb::TargetHealth> health_of(const berth::lb::Place& place,
                                                 const berth::lb::RuleRef& rule) const;

  ModelProvider& provider_;
  Process* process_ = nullptr;
  berth::lb::HealthFollowers followers_{
      [this](const berth::lb::Place& place, const berth::lb::RuleRef& rule) {
        return health_of(place, rule);
      }};
  mutable berth::lb::Budgets budgets_;
};

}  // namespace berth::sim::lb
