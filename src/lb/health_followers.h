// HealthFollowers: who follows which rule, for implementations of HealthFeed. They say that a rule
// may have changed; what has, is found by reading it again, so that the last thing that a follower
// hears is what is true, in whichever order changes come.
//
// Thread-safe; owned by the feed.
#pragma once

#include <atomic>
#include <map>
#include <set>

#include "base/mutex.h"
#include "lb/health.h"

namespace berth::lb {

class HealthFollowers {
 public:
  // How the targets of the rule are, from memory. Called without a lock of this class but that of
  // one follower, so it may take the feed's.
  using Read = std::function<std::vector<TargetHealth>(const Place& place, const RuleRef& rule)>;

  explicit HealthFollowers(Read read);

  std::unique_ptr<Following> follow(const Place& place, const RuleRef& rule,
                                    HealthFeed::OnHealth on_health);
  // Something of the rule may have changed. Calls its followers: no lock may be held that they, or
  // `read`, take.
  void note_change(const model::LoadBalancerRef& lb, const RuleRef& rule);
  std::map<Place, std::set<RuleRef>> followed() const;

 private:
  class Follower;
  struct Book;
  class Handle;

  // Handles have a part in it.
  const std::shared_ptr<Book> book_;
};

}  // namespace berth::lb
