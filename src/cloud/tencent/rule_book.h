// RuleBook: what the cloud calls our rules and which targets they have, as it was last read or
// confirmed, so that a change of targets costs one call and not a look before it. Not a wish: what
// is not in it is read, and what went otherwise than it says is forgotten. Thread-safe.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "cloud/tencent/answers.h"

namespace berth::cloud::tencent {

struct KnownRule {
  std::string location{};  // empty for a listener that is not of layer 7
  std::map<model::Target, std::uint32_t> weights{};
};

class RuleBook {
 public:
  std::optional<KnownRule> find(const model::LoadBalancerRef& lb, const lb::RuleRef& rule) const;

  // All rules of a listener, as they were read.
  void note(const model::LoadBalancerRef& lb, const ListenerTargets& read);
  // A listener or rule that was just made.
  void add_listener(const model::LoadBalancerRef& lb, const model::ListenerId& listener,
                    bool is_layer7);
  void add_rule(const model::LoadBalancerRef& lb, const lb::RuleRef& rule, std::string location);
  void put_target(const model::LoadBalancerRef& lb, const lb::RuleRef& rule,
                  const model::WeightedTarget& target);
  void erase_target(const model::LoadBalancerRef& lb, const lb::RuleRef& rule,
                    const model::Target& target);

  // Nothing is known of it any more, be it gone or doubtful.
  void forget(const model::LoadBalancerRef& lb, const model::ListenerId& listener);
  // Of any listener.
  void forget(const model::LoadBalancerRef& lb);

 private:
  using Rules = std::map<model::RuleKey, KnownRule>;
  using Listeners = std::map<model::ListenerId, Rules>;
  KnownRule* at(const model::LoadBalancerRef& lb, const lb::RuleRef& rule) REQUIRES(mu_);

  mutable Mutex mu_;
  std::map<model::LoadBalancerRef, Listeners> balancers_ GUARDED_BY(mu_);
};

}  // namespace berth::cloud::tencent
