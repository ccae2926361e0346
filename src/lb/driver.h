// Driver: what a provider of load balancers can do, in its own batches. One implementation for each
// cloud, one for the edge load balancer, one model with faults for tests; all of them pass the
// conformance suite.
//
// Calls block and obey the context. Every call is idempotent or can be found again: a create whose
// reply was lost shows in `list` under the name that it was given. Errors say by their code what
// the engine may do: `throttled` and `unavailable` later, `timeout` after looking (the effect is
// unknown), `already_exists` when the port is taken, `exhausted` when a quota is reached,
// `forbidden` when credentials do not suffice, `not_found` when the load balancer, listener or rule
// is gone, `unsupported` and `invalid` only after a change of the wish. Thread-safe.
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
  model::ListenerId id{};
  model::ListenerSpec spec{};
};

struct ListenerChange {
  model::ListenerId listener{};
  model::ListenerAttributes attributes{};
};

// Of a listener that is not of layer 7, the key is empty.
struct RuleRef {
  model::ListenerId listener{};
  model::RuleKey key{};

  friend auto operator<=>(const RuleRef&, const RuleRef&) = default;
};

struct NewRule {
  RuleRef rule{};
  model::RuleAttributes attributes{};
};

struct RuleChange {
  RuleRef rule{};
  model::RuleAttributes attributes{};
};

struct TargetChange {
  RuleRef rule{};
  std::vector<model::WeightedTarget> add{};  // those that are there already get this weight
  std::vector<model::Target> remove{};
};

enum class Health : std::uint8_t { unhealthy, healthy, unknown };

// What the provider's health check says of a target.
struct TargetHealth {
  RuleRef rule{};
  model::Target target{};
  Health health = Health::unknown;
};

class Driver {
 public:
  virtual ~Driver() = default;

  virtual const model::Abilities& abilities() const = 0;
  // Whether a change can make of what is there what is wished, targets aside; otherwise it is made
  // anew. Protocol and ports are the same, and of a rule the key. No calls.
  virtual bool can_change(const model::ListenerAttributes&,
                          const model::ListenerAttributes&) const {
    return true;
  }
  virtual bool can_change(const model::RuleAttributes&, const model::RuleAttributes&) const {
    return true;
  }

  virtual Result<model::LoadBalancerInfo> describe(const Context& context,
                                                   const model::LoadBalancerRef& lb) = 0;
  // All listeners of the load balancer with their rules, those of others too. Attributes that were
  // left to the provider's default may show as the values that it chose.
  virtual Result<std::vector<ObservedListener>> list(const Context& context,
                                                     const model::LoadBalancerRef& lb) = 0;

  // One outcome per entry, in order: a batch may succeed in part. At most a batch at a time.
  //
  // A created listener has its attributes. One of layer 7 has no rules yet; any other has its rule,
  // with its attributes and without targets.
  virtual std::vector<Result<model::ListenerId>> create(
      const Context& context, const model::LoadBalancerRef& lb,
      std::span<const model::ListenerSpec> wanted) = 0;
  // With all its rules. One that is gone already is a success.
  virtual std::vector<Result<>> remove(const Context& context, const model::LoadBalancerRef& lb,
                                       std::span<const model::ListenerId> ids) = 0;
  virtual std::vector<Result<>> change(const Context& context, const model::LoadBalancerRef& lb,
                                       std::span<const ListenerChange> changes) = 0;

  // Of layer 7 alone. One that is there already gets these attributes.
  virtual std::vector<Result<>> create_rules(const Context& context,
                                             const model::LoadBalancerRef& lb,
                                             std::span<const NewRule> wanted) = 0;
  // One that is gone already is a success.
  virtual std::vector<Result<>> remove_rules(const Context& context,
                                             const model::LoadBalancerRef& lb,
                                             std::span<const RuleRef> rules) = 0;
  virtual std::vector<Result<>> change_rules(const Context& context,
                                             const model::LoadBalancerRef& lb,
                                             std::span<const RuleChange> changes) = 0;
  // Returns when traffic goes where it should. Adding before removing is the driver's business
  // where the provider lets it.
  virtual std::vector<Result<>> change_targets(const Context& context,
                                               const model::LoadBalancerRef& lb,
                                               std::span<const TargetChange> changes) = 0;

  // What was last heard of the targets' health, from memory: it must not wait for the provider.
  // Empty for a driver that does not look.
  virtual std::vector<TargetHealth> health(const model::LoadBalancerRef&) const { return {}; }
};

}  // namespace berth::lb
