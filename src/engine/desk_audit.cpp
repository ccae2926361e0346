// The audit: what the caller believes to be done, compared with what is there.
#include <algorithm>

#include "engine/desk.h"

namespace berth::engine {

void Desk::run_audit() {
  audit_ = false;
  next_audit_ = now() + office_.jittered(office_.options.audit_period);
  if (settling()) next_audit_ = std::min(next_audit_, settle_until_);
  Standing catalog = office_.catalog(lb_);
  find_leftovers(catalog);
  std::vector<StandingWish> standing = std::move(catalog.wishes);
  if (standing.empty() && open_.empty() && leftovers_.empty()) retire_ = true;
  // What is open is on its way already; what was never applied cannot have drifted.
  std::erase_if(standing, [&](const StandingWish& wish) {
    return !wish.applied || open_.contains(wish.key);
  });

  std::vector<lb::Desired> wishes;
  wishes.reserve(standing.size());
  for (const StandingWish& wish : standing) wishes.push_back(desired(wish.wish));
  const lb::Plan plan =
      lb::plan(wishes, known_, {driver_->limits(), office_.options.name_prefix, {}});

  std::size_t drifted = 0;
  std::string first;
  for (std::size_t i = 0; i < standing.size(); ++i) {
    if (plan.findings[i].verdict == lb::Verdict::as_wished &&
        (!standing[i].wish.spec || plan.findings[i].listener_id == standing[i].wish.known_id)) {
      continue;
    }
    if (drifted++ == 0) first = standing[i].key;
    open_.put(
        {.key = std::move(standing[i].key), .wish = std::move(standing[i].wish), .repair = true});
  }
  office_.metrics.drift(lb_, drifted);
  if (drifted == 0) return;
  log_warn("a load balancer was changed by others and is repaired",
           {{"lb", to_string(lb_)}, {"listeners", std::to_string(drifted)}, {"first", first}});
}

}  // namespace berth::engine
