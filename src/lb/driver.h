// Driver: what a provider of load balancers can do, in its own batches. One implementation for each
// cloud, one for the edge load balancer, one model with faults for tests; all of them pass the
// conformance suite.
//
// Calls block and obey the context. Every call is idempotent or can be found again: a create whose
// reply was lost shows in `list` under the name that it was given. Errors say by their code what
// the engine may do: `throttled` and `unavailable` later, `timeout` after looking (the effect is
// unknown), `already_exists` when the port is taken, `exhausted` when a quota is reached,
// `forbidden` when credentials do not suffice, `not_found` when the load balancer or listener is
// gone, `unsupported` and `invalid` only after a change of the wish. Thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/context.h"
#include "model/listener.h"
#include "model/load_balancer.h"

namespace berth::lb {

// A listener as the provider has it.
struct ObservedListener {
  std::string id{};  // the provider's
  model::ListenerSpec spec{};
};

struct TargetChange {
  std::string listener_id{};
  std::vector<model::WeightedTarget> add{};  // those that are there already get this weight
  std::vector<model::Target> remove{};
};

struct AttributeChange {
  std::string listener_id{};
  model::ListenerAttributes attributes{};
};

enum class Health : std::uint8_t { unhealthy, healthy, unknown };

// What the provider's health check says of a target.
struct TargetHealth {
  std::string listener_id{};
  model::Target target{};
  Health health = Health::unknown;
};

class Driver {
 public:
  virtual ~Driver() = default;

  virtual const model::Abilities& abilities() const = 0;

  virtual Result<model::LoadBalancerInfo> describe(const Context& context,
                                                   const model::LoadBalancerRef& lb) = 0;
  // All listeners of the load balancer, those of others too. Attributes that were left to the
  // provider's default may show as the values that it chose.
  virtual Result<std::vector<ObservedListener>> list(const Context& context,
                                                     const model::LoadBalancerRef& lb) = 0;

  // One outcome per entry, in order: a batch may succeed in part. At most a batch at a time. A
  // created listener has its attributes; targets are added by `change_targets`.
  virtual std::vector<Result<std::string>> create(const Context& context,
                                                  const model::LoadBalancerRef& lb,
                                                  std::span<const model::ListenerSpec> wanted) = 0;
  // One that is gone already is a success.
  virtual std::vector<Result<>> remove(const Context& context, const model::LoadBalancerRef& lb,
                                       std::span<const std::string> ids) = 0;
  // Returns when traffic goes where it should. Adding before removing is the driver's business
  // where the provider lets it.
  virtual std::vector<Result<>> change_targets(const Context& context,
                                               const model::LoadBalancerRef& lb,
                                               std::span<const TargetChange> changes) = 0;
  virtual std::vector<Result<>> change_attributes(const Context& context,
                                                  const model::LoadBalancerRef& lb,
                                                  std::span<const AttributeChange> changes) = 0;

  // What was last heard of the targets' health, from memory: it must not wait for the provider.
  // Empty for a driver that does not look.
  virtual std::vector<TargetHealth> health(const model::LoadBalancerRef&) const { return {}; }
};

}  // namespace berth::lb
