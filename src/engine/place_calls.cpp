// Acting: the calls of a round, and what they changed.
#include <algorithm>
#include <functional>
#include <utility>

#include "engine/calls.h"
#include "engine/place_reconciler.h"

namespace berth::engine {
namespace {

// What the calls of a batch are made of.
template <class Step, class Member>
auto parts_of(const std::vector<Step>& steps, Member member) {
  std::vector<std::remove_cvref_t<std::invoke_result_t<Member, const Step&>>> out;
  out.reserve(steps.size());
  for (const Step& step : steps) out.push_back(std::invoke(member, step));
  return out;
}

}  // namespace

// How the steps of one wish in a round ended.
template <class Step>
struct PlaceReconciler::CallEnd {
  std::vector<Step> confirmed{};
  std::vector<Step> refused{};
  std::optional<Error> refusal{};
  std::optional<Error> error{};  // what happened is not known, before what may be tried again

  template <class Value>
  void add(const Step& step, const Result<Value>& result) {
    if (result) {
      confirmed.push_back(step);
    } else if (treatment_of(result.error().code) == Treatment::give_up) {
      refused.push_back(step);
      refusal = result.error();
    } else if (!error || treatment_of(error->code) != Treatment::look) {
      error = result.error();
    }
  }
};

template <class Value>
void PlaceReconciler::note_whole_call(const std::vector<Result<Value>>& results) {
  const bool any = std::any_of(results.begin(), results.end(), [](const auto& result) {
    return result || treatment_of(result.error().code) != Treatment::again;
  });
  if (any) {
    attempts_ = 0;
    return;
  }
  // Nothing gets through: the others need not try.
  ++attempts_;
  not_before_ = now() + shared_.delay(Treatment::again, attempts_, results.front().error());
}

// What was refused at once says nothing of how long a call takes.
template <class Results>
void PlaceReconciler::note_duration(const std::vector<Results>& calls, Duration took) {
  const bool done = std::ranges::any_of(calls, [](const Results& results) {
    return std::ranges::any_of(results, [](const auto& result) { return result.has_value(); });
  });
  if (done) next_.call = took;
}

// What has no room is planned anew when it has: until then wishes collect.
std::size_t PlaceReconciler::calls_with_room(Action action, std::size_t most) {
  for (std::size_t count = 0; count < most; ++count) {
    const Instant at = driver_->free_at(place_, action, count + 1, now());
    if (at <= now()) continue;
    if (count == 0) not_before_ = std::max(not_before_, at);
    return count;
  }
  return most;
}

template <class Step, class Call, class Done>
void PlaceReconciler::run_calls(const Context& context, Action action,
                                const std::vector<std::vector<Step>>& batches, const Window& window,
                                Call call, Done done) {
  using Results = decltype(call(context, batches.front()));
  const std::size_t count = calls_with_room(action, batches.size());
  if (count == 0 || !may_write() || !has_begun()) return;

  std::vector<Results> results(count);
  const Instant began = now();
  {
    std::vector<std::unique_ptr<Task>> tasks;
    for (std::size_t i = 1; i < count; ++i) {
      tasks.push_back(context.tasks.spawn("lb-call", [&, i](std::stop_token stop) {
        Context own = context;
        own.stop = stop;
        results[i] = call(own, batches[i]);
      }));
    }
    const std::stop_callback forward(context.stop, [&] {
      for (auto& task : tasks) task->request_stop();
    });
    results[0] = call(context, batches[0]);
    for (auto& task : tasks) task->join();
  }
  note_duration(results, now() - began);
  if constexpr (std::is_same_v<Step, lb::Creation>) note_creations(results);
  std::map<std::size_t, CallEnd<Step>> ends;
  for (std::size_t i = 0; i < count; ++i) {
    ++writes_since_look_;
    note_whole_call(results[i]);
    for (std::size_t k = 0; k < batches[i].size(); ++k) {
      const Step& step = batches[i][k];
      auto& result = results[i][k];
      if (result) done(step, result);
      window[step.wish]->touched = true;
      ends[step.wish].add(step, result);
    }
  }
  for (auto& [wish, end] : ends) conclude_call(*window[wish], std::move(end));
}

// Of all its steps at once: a wish is told, and waits, once for a call.
template <class Step>
void PlaceReconciler::conclude_call(OpenWish& wish, CallEnd<Step> end) {
  for (const Step& step : end.confirmed) wish.confirmed.add(step);
  if (!end.confirmed.empty()) {
    wish.refused = {};  // it may be possible by now
    may_appear_.erase(wish.key);
  }
  for (const Step& step : end.refused) wish.refused.add(step);
  if (end.refusal) tell(wish, *end.refusal);
  if (end.error) {
    failed(wish, *end.error);
  } else if (!end.confirmed.empty()) {
    wish.attempts = 0;
  }
}

void PlaceReconciler::act(const Context& context, const Round& round, const Window& window) {
  switch (round.kind) {
    case Round::Kind::none: return;
    case Round::Kind::removals:
    case Round::Kind::creations:
    case Round::Kind::listeners: return act_on_listeners(context, round, window);
    case Round::Kind::rule_removals:
    case Round::Kind::rule_creations:
    case Round::Kind::rules:
    case Round::Kind::targets: return act_on_rules(context, round, window);
  }
}

void PlaceReconciler::act_on_listeners(const Context& context, const Round& round,
                                       const Window& window) {
  const Line line{*driver_, place_, shared_};
  if (round.kind == Round::Kind::removals) {
    run_calls(
        context, Action::remove_listeners, round.calls.removals, window,
        [&](const Context& own, const std::vector<lb::Removal>& steps) {
          return remove_listeners(own, line, parts_of(steps, &lb::Removal::id));
        },
        [&](const lb::Removal& step, Result<>&) {
          known_.erase(step.id);
          room_ = true;
        });
    if (std::exchange(room_, false)) made_room();
  } else if (round.kind == Round::Kind::creations) {
    const auto spec_of = [&](const lb::Creation& step) { return *window[step.wish]->wish.spec; };
    run_calls(
        context, Action::create_listeners, round.calls.creations, window,
        [&](const Context& own, const std::vector<lb::Creation>& steps) {
          return create_listeners(own, line, parts_of(steps, spec_of));
        },
        [&](const lb::Creation& step, Result<model::ListenerId>& id) {
          known_.put(lb::newly_made(*id, spec_of(step)));
          window[step.wish]->made_here = true;
        });
  } else {
    run_calls(
        context, Action::change_listeners, round.calls.listeners, window,
        [&](const Context& own, const std::vector<lb::ListenerStep>& steps) {
          return change_listeners(own, line, parts_of(steps, &lb::ListenerStep::change));
        },
        [&](const lb::ListenerStep& step, Result<>&) { known_.change(step.change); });
  }
}

void PlaceReconciler::act_on_rules(const Context& context, const Round& round,
                                   const Window& window) {
  const Line line{*driver_, place_, shared_};
  if (round.kind == Round::Kind::rule_removals) {
    run_calls(
        context, Action::remove_rules, round.calls.rule_removals, window,
        [&](const Context& own, const std::vector<lb::RuleRemoval>& steps) {
          return remove_rules(own, line, parts_of(steps, &lb::RuleRemoval::rule));
        },
        [&](const lb::RuleRemoval& step, Result<>&) { known_.erase(step.rule); });
  } else if (round.kind == Round::Kind::rule_creations) {
    run_calls(
        context, Action::create_rules, round.calls.rule_creations, window,
        [&](const Context& own, const std::vector<lb::RuleCreation>& steps) {
          return create_rules(own, line, parts_of(steps, &lb::RuleCreation::rule));
        },
        [&](const lb::RuleCreation& step, Result<>&) { known_.put(step.rule); });
  } else if (round.kind == Round::Kind::rules) {
    run_calls(
        context, Action::change_rules, round.calls.rules, window,
        [&](const Context& own, const std::vector<lb::RuleStep>& steps) {
          return change_rules(own, line, parts_of(steps, &lb::RuleStep::change));
        },
        [&](const lb::RuleStep& step, Result<>&) { known_.change(step.change); });
  } else {
    run_calls(
        context, Action::change_targets, round.calls.targets, window,
        [&](const Context& own, const std::vector<lb::TargetStep>& steps) {
          return change_targets(own, line, parts_of(steps, &lb::TargetStep::change));
        },
        [&](const lb::TargetStep& step, Result<>&) { known_.change(step.change); });
  }
}

}  // namespace berth::engine
