// The audit: what the caller believes to be done, compared with what is there.
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/place_reconciler.h"

namespace berth::engine {
namespace {

// Most repairs are done in a moment, as all are after a restart of the edge load balancer: nobody
// is told of them.
constexpr Duration kQuickRepair = std::chrono::seconds{10};

// Which wishes have traffic that does not arrive. Attributes alone lead nobody astray.
std::vector<bool> astray_in(const lb::Plan& plan) {
  std::vector<bool> out;
  for (const lb::Finding& finding : plan.findings)
    out.push_back(finding.verdict != lb::Verdict::as_wished &&
                  finding.verdict != lb::Verdict::change);
  for (const lb::Creation& step : plan.creations) out[step.wish] = true;
  for (const lb::RuleCreation& step : plan.rule_creations) out[step.wish] = true;
  // A stranger's rule takes what another one should get.
  for (const lb::RuleRemoval& step : plan.rule_removals) out[step.wish] = true;
  for (const lb::TargetStep& step : plan.targets) out[step.wish] = true;
  return out;
}

}  // namespace

void PlaceReconciler::run_audit() {
  // Otherwise what was asked for: of the rest it is known that it was as it should be.
  const bool all = std::exchange(audit_, false);
  compare_ = false;
  Standing catalog = shared_.catalog(lb_);
  if (all) {
    next_audit_ = now() + shared_.jittered(shared_.options.audit_period);
    if (settling() && !keeps_listeners()) next_audit_ = std::min(next_audit_, settle_until_);
    find_leftovers(catalog, Find::all);
  }
  std::vector<StandingWish> standing = std::move(catalog.wishes);
  std::erase_if(standing, [&](const StandingWish& wish) { return !is_mine(wish); });
  if (all && standing.empty() && open_.empty() && leftovers_.empty()) retire_ = true;
  // What is open is on its way already; what was never applied cannot have drifted.
  std::erase_if(standing, [&](const StandingWish& wish) {
    return !wish.applied || open_.contains(wish.key);
  });

  std::vector<lb::Desired> wishes;
  wishes.reserve(standing.size());
  for (const StandingWish& wish : standing) wishes.push_back(desired(wish.wish));
  const lb::Plan plan = lb::plan(wishes, known_, plan_rules());

  const std::vector<bool> astray = astray_in(plan);
  std::size_t drifted = 0;
  WishKey first;
  for (std::size_t i = 0; i < standing.size(); ++i) {
    if (plan.findings[i].verdict == lb::Verdict::as_wished &&
        (!standing[i].wish.spec || plan.findings[i].listener_id == standing[i].wish.known_id)) {
      continue;
    }
    if (drifted++ == 0) first = standing[i].key;
    next_.opened.push_back(standing[i].key);
    open_.put({.key = std::move(standing[i].key),
               .wish = std::move(standing[i].wish),
               .repair = true,
               .astray_since = astray[i] ? std::optional(now()) : std::nullopt,
               .looked = listed_});
  }
  shared_.metrics.drift(lb_, drifted);
  if (drifted == 0) return;
  log_warn(
      "a load balancer was changed by others and is repaired",
      {{"lb", to_string(lb_)}, {"listeners", std::to_string(drifted)}, {"first", first.value}});
}

// The load balancer is gone, and with it all that led anywhere.
void PlaceReconciler::reopen_all() {
  for (StandingWish& standing : shared_.catalog(lb_).wishes) {
    const bool done = is_mine(standing) && standing.applied && standing.wish.spec;
    if (!done || open_.contains(standing.key)) continue;
    const bool leads = model::leads_somewhere(*standing.wish.spec);
    if (!leads && !is_gone()) continue;
    next_.opened.push_back(standing.key);
    open_.put({.key = std::move(standing.key),
               .wish = std::move(standing.wish),
               .repair = true,
               .astray_since = leads ? std::optional(now()) : std::nullopt});
  }
}

void PlaceReconciler::tell_of_slow_repairs() {
  if (next_slow_repair().value_or(kNever) > now()) return;
  for (OpenWish* wish : open_.all()) {
    if (!wish->astray_since || wish->told || *wish->astray_since + kQuickRepair > now()) continue;
    tell(*wish, error_of(Code::unavailable, "others changed it, and it is not repaired yet"));
  }
}

std::optional<Instant> PlaceReconciler::next_slow_repair() {
  std::optional<Instant> out;
  for (const OpenWish* wish : open_.all()) {
    if (!wish->astray_since || wish->told) continue;
    const Instant due = *wish->astray_since + kQuickRepair;
    out = std::min(out.value_or(due), due);
  }
  return out;
}

}  // namespace berth::engine
