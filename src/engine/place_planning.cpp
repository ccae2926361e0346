// Planning: which calls come next.
#include <algorithm>
#include <set>
#include <utility>

#include "engine/place_reconciler.h"
#include "engine/standing_index.h"

namespace berth::engine {
namespace {

// While what was changed must be read back, so many writes may pass before it is.
constexpr int kWritesPerReadBack = 8;

Error port_taken(const lb::Finding& finding) {
  if (finding.verdict == lb::Verdict::foreign) {
    return error_of(Code::already_exists, "the port belongs to {}, which is not ours",
                    finding.holder)
        .with_hint("remove that listener, or choose another port");
  }
  return error_of(Code::already_exists, "the port is in use for {}", finding.holder);
}

// After a takeover, what a former leader's call may still change. A listener that was made since
// and leads nowhere is not among it, and there are thousands of them in a new pool.
bool must_be_read_back(const OpenWish& wish) {
  const bool leads_nowhere = wish.wish.spec && !model::leads_somewhere(*wish.wish.spec);
  return wish.touched && !(wish.made_here && leads_nowhere);
}

// What is called first makes it possible.
template <class Step>
bool comes_later(const Step& step) {
  if constexpr (requires { step.later; }) {
    return step.later;
  } else {
    return false;
  }
}

}  // namespace

lb::Desired desired(const Wish& wish) {
  return {.spec = wish.spec ? &*wish.spec : nullptr,
          .name = wish.spec ? std::string_view(wish.spec->name) : std::string_view(wish.name),
          .known_id = &wish.known_id,
          .protocol = wish.spec ? wish.spec->protocol : wish.protocol,
          .own = wish.own};
}

void PlaceReconciler::work(const Context& context) {
  Window window = open_.window(now());
  if (window.empty()) return;
  bool outdated = false;
  for (OpenWish* wish : window) {
    // One of ours that is in the way may be removed by who has other credentials.
    if (!wish->judged || !(wish->told_foreign || keeps_listeners())) continue;
    doubt(*wish);
    outdated = true;
  }
  if (outdated) return;
  lb::Plan plan = plan_for(window);
  conclude(window, plan);
  if (stale_) return;
  const Round round = choose(std::move(plan), window);
  if (round.kind != Round::Kind::none) act(context, round, window);
  if (round.kind == Round::Kind::none || writes_since_look_ >= kWritesPerReadBack) {
    for (OpenWish* wish : open_.all())
      if (wish->read_back) doubt(*wish);
  }
}

lb::Plan PlaceReconciler::plan_for(const Window& window) {
  std::vector<lb::Desired> wishes;
  wishes.reserve(window.size());
  for (const OpenWish* wish : window) wishes.push_back(desired(wish->wish));
  StandingIndex standing([this](const StandingIndex::Visit& visit) {
    for (const StandingWish& wish : shared_.catalog(lb_).wishes) visit(wish.wish);
    for (const OpenWish* wish : open_.all()) visit(wish->wish);
  });
  lb::PlanRules rules = plan_rules();
  rules.wished_elsewhere = [&](const lb::KnownListener& listener) {
    return standing.wants(listener);
  };
  return lb::plan(wishes, known_, rules);
}

lb::PlanRules PlaceReconciler::plan_rules() const {
  return {
      .limits = driver_->abilities(),
      .name_prefix = shared_.options.name_prefix,
      .can_change = [this](const auto& there,
                           const auto& wished) { return driver_->can_change(there, wished); },
      .can_change_rule = [this](const auto& there,
                                const auto& wished) { return driver_->can_change(there, wished); }};
}

void PlaceReconciler::conclude(Window& window, const lb::Plan& plan) {
  const std::vector<bool> again = needed_again(window, plan);
  for (std::size_t i = 0; i < window.size(); ++i) {
    if (again[i]) {
      contradicted(window[i]);
    } else {
      judge(window[i], plan.findings[i]);
    }
  }
}

// Which wishes have a step in the plan that the provider has confirmed already.
std::vector<bool> PlaceReconciler::needed_again(const Window& window, const lb::Plan& plan) {
  std::vector<bool> out(window.size(), false);
  lb::for_each_kind(plan, [&](const auto& steps) {
    for (const auto& step : steps)
      if (window[step.wish]->confirmed.has(step)) out[step.wish] = true;
  });
  return out;
}

void PlaceReconciler::judge(OpenWish*& wish, const lb::Finding& finding) {
  switch (finding.verdict) {
    case lb::Verdict::as_wished:
      if (settling() && may_be_undone(*wish)) {
        wish->not_before = settle_until_;  // what is asked in that moment comes first
        wish = nullptr;
      } else if (settling() && must_be_read_back(*wish)) {
        wish->read_back = true;
      } else {
        succeeded(*wish, finding.listener_id);
        wish = nullptr;
      }
      return;
    case lb::Verdict::foreign:
    case lb::Verdict::held: {
      const Error error = port_taken(finding);
      ++wish->attempts;
      wish->judged = true;
      wish->not_before = now() + shared_.delay(Treatment::slowly, wish->attempts, error);
      tell(*wish, error, finding.verdict == lb::Verdict::foreign);
      return;
    }
    case lb::Verdict::unsupported:
      failed(*wish, error_of(Code::unsupported, "the provider has no {}", finding.holder));
      wish = nullptr;
      return;
    case lb::Verdict::change: return;
  }
}

// A call was confirmed and did not bring what it should: somebody else changed it back, or the
// provider does not do what it confirms. Without a pause that could go on for ever, because every
// call is a success.
void PlaceReconciler::contradicted(OpenWish*& wish) {
  const Error error =
      error_of(Code::conflict, "the provider confirmed a change and does not show it")
          .with_hint("look whether somebody else changes this load balancer");
  wish->confirmed = {};
  ++wish->contradictions;
  if (wish->touched) doubt(*wish);  // what we know may be wrong
  wish->not_before = now() + shared_.delay(Treatment::look, wish->contradictions, error);
  if (wish->contradictions >= kReportAfter) tell(*wish, error);
  if (wish->not_before > now() || !wish->looked) wish = nullptr;
}

Round PlaceReconciler::choose(lb::Plan plan, const Window& window) {
  lb::for_each_kind(plan, [&](auto& steps) {
    std::erase_if(steps, [&](const auto& step) { return !window[step.wish] || comes_later(step); });
  });
  leave_out_refused(plan, window);
  put_off_creations(plan, window);
  const bool pressing = std::any_of(
      plan.targets.begin(), plan.targets.end(),
      [&](const lb::TargetStep& step) { return !window[step.wish]->wish.known_id.empty(); });
  return rounds_.next(plan, driver_->abilities(), pressing);
}

// The other steps of a wish go on. One that has no others waits for another wish.
void PlaceReconciler::leave_out_refused(lb::Plan& plan, const Window& window) {
  std::set<std::size_t> refused;
  std::set<std::size_t> left;
  lb::for_each_kind(plan, [&](auto& steps) {
    std::erase_if(steps, [&](const auto& step) {
      const bool is_refused = window[step.wish]->refused.has(step);
      (is_refused ? refused : left).insert(step.wish);
      return is_refused;
    });
  });
  for (const std::size_t wish : refused)
    if (!left.contains(wish)) window[wish]->not_before = kNever;
}

// What waits for room at a full load balancer is told so without a call for each.
void PlaceReconciler::put_off_creations(lb::Plan& plan, const Window& window) {
  const Quota::State quota = quota_->state();
  if (now() < quota.full_until) {
    for (const lb::Creation& step : plan.creations) {
      OpenWish& wish = *window[step.wish];
      wish.not_before = std::max(wish.not_before, quota.full_until);
      tell(wish, *quota.full);
    }
    plan.creations.clear();
  }
  if (plan.creations.size() > quota.at_once)
    plan.creations.erase(plan.creations.begin() + static_cast<std::ptrdiff_t>(quota.at_once),
                         plan.creations.end());
}

void PlaceReconciler::note_creations(
    const std::vector<std::vector<Result<model::ListenerId>>>& results) {
  bool made = false;
  std::optional<Error> full;
  for (const auto& call : results) {
    for (const Result<model::ListenerId>& result : call) {
      made = made || result;
      if (!result && result.error().code == Code::exhausted) full = result.error();
    }
  }
  quota_->note(made, full, now(),
               [&](int attempts) { return shared_.delay(Treatment::slowly, attempts, *full); });
}

}  // namespace berth::engine
