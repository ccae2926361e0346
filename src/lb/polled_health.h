// PolledHealth: a HealthFeed over a provider that must be asked. What somebody follows is asked for
// often while it is new, changes or is not healthy, and seldom when it is quiet; everything else
// seldom, for metrics. One call asks for many rules of one load balancer.
//
// Whoever changes the targets of a rule says so by `hurry`. Thread-safe; owned by the driver.
#pragma once

#include <map>

#include "base/mutex.h"
#include "lb/health_followers.h"

namespace berth::lb {

struct PolledHealthOptions {
  Duration soon = std::chrono::seconds{2};
  Duration slowly = std::chrono::seconds{30};
  // How long a change, or the beginning of following, keeps a rule interesting.
  Duration interest = std::chrono::minutes{2};
  Duration everything = std::chrono::minutes{5};
  // Rules that one call may ask for, and calls for one load balancer in one round: what is left is
  // first in the next.
  std::size_t rules_per_call = 50;
  std::size_t calls_per_round = 10;
  std::size_t lbs_at_once = 4;
  // A provider that takes longer is not there.
  Duration answers_within = std::chrono::seconds{20};
};

class PolledHealth final : public HealthFeed {
 public:
  // How the targets of these rules of one load balancer are; no rules: of all. A rule that is gone
  // has none. Errors have the codes of listeners.h.
  using Ask = std::function<Result<std::vector<TargetHealth>>(
      const Context& context, const Place& place, std::span<const RuleRef> rules)>;

  PolledHealth(Tasks& tasks, Ask ask, PolledHealthOptions options = {});

  std::vector<TargetHealth> last(const model::LoadBalancerRef& lb) const override;
  std::unique_ptr<Following> follow(const Place& place, const RuleRef& rule,
                                    OnHealth on_health) override;
  void run(const Context& context, const Places& places) override;

  // Its targets have changed, or are about to.
  void hurry(const model::LoadBalancerRef& lb, const RuleRef& rule);

 private:
  using Rules = std::vector<RuleRef>;
  struct Rule {
    std::vector<TargetHealth> targets{};
    Instant due{};  // when it is asked for because somebody follows it
    Instant interesting_until{};
  };
  struct Balancer {
    std::map<RuleRef, Rule> rules{};
    Instant all_due{};
    Duration pause{};      // after errors
    Instant not_before{};  // the same
  };
  // One load balancer's part of a round.
  struct Turn {
    Place place{};
    bool all = false;
    Rules rules{};  // those that have waited for longest first
  };

  std::vector<Turn> due_turns(const Places& places);
  void forget_strangers(const std::map<Place, std::set<RuleRef>>& followed,
                        const std::set<Place>& known) REQUIRES(mu_);
  Instant next_look(const Places& places);
  void take(const Context& context, const Turn& turn);
  // False: the provider did not answer, and the turn is over.
  bool ask_for(const Context& context, const Place& place, std::span<const RuleRef> rules);
  void note(const model::LoadBalancerRef& lb, std::span<const RuleRef> asked,
            std::vector<TargetHealth> answer, Rules& changed) REQUIRES(mu_);
  void back_off(Balancer& balancer, const Error& error) REQUIRES(mu_);

  Tasks& tasks_;
  const Ask ask_;
  const PolledHealthOptions options_;
  HealthFollowers followers_;
  const std::unique_ptr<Signal> wake_;
  mutable Mutex mu_;
  std::map<model::LoadBalancerRef, Balancer> balancers_ GUARDED_BY(mu_);
};

}  // namespace berth::lb
