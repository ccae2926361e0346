// The driver of a ModelProvider: a process's way to it.
//
// In simulation every call is a seam call of the process, so a crash can strike on both sides of
// it; on threads (benches) it is a plain call that takes the provider's latency. Thread-safe; the
// provider outlives it.
#pragma once

#include "lb/driver.h"
#include "sim/kernel/kernel.h"
#include "sim/lb/model_provider.h"

namespace berth::sim::lb {

class ModelDriver final : public berth::lb::Driver {
 public:
  ModelDriver(ModelProvider& provider, Process& process)
      : provider_(provider), process_(&process) {}
  // Without simulation.
  explicit ModelDriver(ModelProvider& provider) : provider_(provider) {}

  const model::Abilities& abilities() const override { return provider_.abilities(); }
  Result<model::LoadBalancerInfo> describe(const Context& context,
                                           const model::LoadBalancerRef& lb) override;
  Result<std::vector<berth::lb::ObservedListener>> list(const Context& context,
                                                        const model::LoadBalancerRef& lb) override;
  std::vector<Result<std::string>> create(const Context& context, const model::LoadBalancerRef& lb,
                                          std::span<const model::ListenerSpec> wanted) override;
  std::vector<Result<>> remove(const Context& context, const model::LoadBalancerRef& lb,
                               std::span<const std::string> ids) override;
  std::vector<Result<>> change_targets(const Context& context, const model::LoadBalancerRef& lb,
                                       std::span<const berth::lb::TargetChange> changes) override;
  std::vector<Result<>> change_attributes(
      const Context& context, const model::LoadBalancerRef& lb,
      std::span<const berth::lb::AttributeChange> changes) override;

 private:
  // Runs `apply(now)` on the provider's side: through the seam in simulation.
  template <class F>
  auto reach(const Context& context, std::string_view label, Effect effect, F apply) ->
      typename SeamReplyOf<std::invoke_result_t<F&, Instant>>::type;
  // A write, and its task if it is a slow one: one result for each of `size` entries.
  template <class F>
  std::vector<Result<std::string>> write(const Context& context, const model::LoadBalancerRef& lb,
                                         Call call, std::size_t size, F apply);
  Result<std::vector<Result<std::string>>> await_task(const Context& context, const Reply& reply);

  ModelProvider& provider_;
  Process* process_ = nullptr;
};

}  // namespace berth::sim::lb
