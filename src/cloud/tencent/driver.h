// ClbDriver: Tencent's Cloud Load Balancer behind the seams of lb/driver.h.
//
// Writes to one load balancer follow each other: its abilities say so, and whoever calls keeps to
// it. Thread-safe; what it is given outlives it.
#pragma once

#include "cloud/tencent/api.h"
#include "cloud/tencent/directory.h"
#include "cloud/tencent/rule_book.h"
#include "cloud/tencent/sight.h"
#include "lb/driver.h"
#include "lb/polled_health.h"

namespace berth::cloud::tencent {

class ClbListeners final : public lb::Listeners {
 public:
  // Told after each change of targets.
  using OnTargets = std::function<void(const model::LoadBalancerRef& lb, const lb::RuleRef& rule)>;

  ClbListeners(Api& api, OnTargets on_targets) : api_(api), on_targets_(std::move(on_targets)) {}

  const model::Abilities& abilities() const override;
  bool counts_requests() const override { return api_.is_observed(); }
  bool can_change(const model::ListenerAttributes& there,
                  const model::ListenerAttributes& wished) const override;
  bool can_change(const model::RuleAttributes&, const model::RuleAttributes&) const override {
    return true;
  }
  Instant free_at(const lb::Place& place, lb::Action action, std::size_t calls,
                  Instant now) const override;
  Result<std::vector<lb::ObservedListener>> list(const Context& context,
                                                 const lb::Place& place) override;
  Result<std::vector<lb::ObservedListener>> look_up(
      const Context& context, const lb::Place& place,
      std::span<const lb::Question> questions) override;
  std::vector<Result<model::ListenerId>> create(
      const Context& context, const lb::Place& place,
      std::span<const model::ListenerSpec> wanted) override;
  std::vector<Result<>> remove(const Context& context, const lb::Place& place,
                               std::span<const model::ListenerId> ids) override;
  std::vector<Result<>> change(const Context& context, const lb::Place& place,
                               std::span<const lb::ListenerChange> changes) override;
  std::vector<Result<>> create_rules(const Context& context, const lb::Place& place,
                                     std::span<const lb::NewRule> wanted) override;
  std::vector<Result<>> remove_rules(const Context& context, const lb::Place& place,
                                     std::span<const lb::RuleRef> rules) override;
  std::vector<Result<>> change_rules(const Context& context, const lb::Place& place,
                                     std::span<const lb::RuleChange> changes) override;
  std::vector<Result<>> change_targets(const Context& context, const lb::Place& place,
                                       std::span<const lb::TargetChange> changes) override;

 private:
  Api& api_;
  const OnTargets on_targets_;
  RuleBook book_;
  Sight sight_{api_};
};

class ClbDriver {
 public:
  ClbDriver(Tasks& tasks, net::Transport& transport, CredentialSource& credentials, Options options,
            OnSent on_sent = {});

  // Load balancers come from elsewhere.
  lb::Driver seams() {
    return {.listeners = &listeners_, .directory = &directory_, .health = &health_};
  }

 private:
  Api api_;
  lb::PolledHealth health_;
  ClbListeners listeners_;
  ClbDirectory directory_;
};

}  // namespace berth::cloud::tencent
