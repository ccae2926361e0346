// Planning and acting: which calls come next, and what they changed.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "engine/calls.h"
#include "engine/desk.h"

namespace berth::engine {
namespace {

// Calls at one time to a load balancer whose writes need not follow each other.
constexpr std::size_t kParallelCalls = 4;
// While what was changed must be read back, so many writes may pass before it is.
constexpr int kWritesPerReadBack = 8;
// A wish needs at most a removal, a creation, an attribute change and its targets. One that is
// still not met after twice that many calls is on a provider that does not keep what it confirms.
constexpr int kMaxWrites = 8;

// Who wants a listener as it is, looked up only when one is in the way.
class StandingIndex {
 public:
  StandingIndex(std::function<std::vector<StandingWish>()> standing, std::vector<OpenWish*> open)
      : load_(std::move(standing)), open_(std::move(open)) {}

  bool wants(const lb::KnownListener& listener) {
    if (!loaded_) load();
    const auto [first, last] = by_name_.equal_range(listener.spec.name);
    const bool by_name =
        std::any_of(first, last, [&](const auto& entry) { return is_at(listener, entry.second); });
    const auto it = by_id_.find(listener.id);
    return by_name || (it != by_id_.end() && is_at(listener, it->second));
  }

 private:
  struct Place {
    model::Protocol protocol;
    model::PortRange ports;
  };
  static bool is_at(const lb::KnownListener& listener, const Place& place) {
    return listener.spec.protocol == place.protocol && listener.spec.ports == place.ports;
  }
  void add(const Wish& wish) {
    if (!wish.spec) return;
    const Place place{wish.spec->protocol, wish.spec->ports};
    if (!wish.known_id.empty()) by_id_.emplace(wish.known_id, place);
    if (!wish.spec->name.empty()) by_name_.emplace(wish.spec->name, place);
  }
  void load() {
    loaded_ = true;
    for (const StandingWish& wish : load_()) add(wish.wish);
    for (const OpenWish* wish : open_) add(wish->wish);
  }

  std::function<std::vector<StandingWish>()> load_;
  std::vector<OpenWish*> open_;
  bool loaded_ = false;
  std::unordered_map<std::string, Place> by_id_;
  std::unordered_multimap<std::string, Place> by_name_;
};

Error port_taken(const lb::Finding& finding) {
  if (finding.verdict == lb::Verdict::foreign) {
    return error_of(Code::already_exists, "the port belongs to {}, which is not ours",
                    finding.holder)
        .with_hint("remove that listener, or choose another port");
  }
  return error_of(Code::already_exists, "the port is in use for {}", finding.holder);
}

// The batches that can be called at one time: no wish in two of them.
template <class Step>
std::vector<std::vector<Step>> independent(std::vector<std::vector<Step>> batches,
                                           std::size_t bound) {
  std::unordered_set<std::size_t> seen;
  std::vector<std::vector<Step>> out;
  for (auto& batch : batches) {
    if (out.size() == bound) break;
    const bool fresh = std::none_of(batch.begin(), batch.end(),
                                    [&](const Step& step) { return seen.contains(step.wish); });
    for (const Step& step : batch) seen.insert(step.wish);
    if (fresh) out.push_back(std::move(batch));
  }
  return out;
}

}  // namespace

lb::Desired desired(const Wish& wish) {
  return {.spec = wish.spec ? &*wish.spec : nullptr,
          .name = wish.spec ? std::string_view(wish.spec->name) : std::string_view(wish.name),
          .known_id = wish.known_id};
}

void Desk::work(const Context& context) {
  Window window = open_.window(now());
  if (window.empty()) return;
  const bool outdated = std::any_of(window.begin(), window.end(), [&](const OpenWish* wish) {
    return wish->told_foreign && wish->judged_at >= listed_at_;
  });
  if (outdated) {
    stale_ = true;
    return;
  }
  lb::Plan plan = plan_for(window);
  conclude(window, plan);
  const Round round = choose(std::move(plan), window);
  if (round.kind != Kind::none) act(context, round, window);
  if (read_back_ && (round.kind == Kind::none || writes_since_list_ >= kWritesPerReadBack)) {
    stale_ = true;
  }
}

lb::Plan Desk::plan_for(const Window& window) {
  std::vector<lb::Desired> wishes;
  wishes.reserve(window.size());
  for (const OpenWish* wish : window) wishes.push_back(desired(wish->wish));
  StandingIndex standing([this] { return office_.catalog(lb_); }, open_.all());
  return lb::plan(wishes, known_,
                  {driver_->limits(), office_.options.name_prefix,
                   [&](const lb::KnownListener& listener) { return standing.wants(listener); }});
}

void Desk::conclude(Window& window, const lb::Plan& plan) {
  for (std::size_t i = 0; i < window.size(); ++i) judge(window[i], plan.findings[i]);
}

void Desk::judge(OpenWish*& wish, const lb::Finding& finding) {
  switch (finding.verdict) {
    case lb::Verdict::as_wished:
      if (wish->touched && settling()) {
        read_back_ = true;
      } else {
        succeeded(*wish, finding.listener_id);
        wish = nullptr;
      }
      return;
    case lb::Verdict::foreign:
    case lb::Verdict::held: {
      const Error error = port_taken(finding);
      ++wish->attempts;
      wish->judged_at = now();
      wish->not_before = now() + office_.delay(Treatment::slowly, wish->attempts, error);
      tell(*wish, error, finding.verdict == lb::Verdict::foreign);
      return;
    }
    case lb::Verdict::unsupported:
      (void)failed(*wish, error_of(Code::unsupported, "the provider has no {}", finding.holder));
      wish = nullptr;
      return;
    case lb::Verdict::change:
      if (wish->writes >=
          kMaxWrites + static_cast<int>(wish->wish.spec ? wish->wish.spec->targets.size() : 0)) {
        wish->writes = 0;
        (void)failed(*wish,
                     error_of(Code::internal, "the provider does not keep what it confirmed"));
        wish = nullptr;
      }
      return;
  }
}

Desk::Round Desk::choose(lb::Plan plan, const Window& window) {
  const auto put_off = [&](const auto& step) { return !window[step.wish]; };
  std::erase_if(plan.removals, put_off);
  std::erase_if(plan.attributes, put_off);
  // The others become possible by what is called first.
  std::erase_if(plan.creations,
                [&](const lb::Creation& step) { return put_off(step) || step.after_removal; });
  std::erase_if(plan.targets, [&](const lb::TargetStep& step) {
    return put_off(step) || step.change.listener_id.empty();
  });
  const lb::DriverLimits& limits = driver_->limits();
  lb::Batches batches = lb::cut(plan, limits);

  // Targets go in between all the time, because Pods wait for them; unless more of them can be
  // collected for one call without keeping anybody waiting.
  const bool others = !plan.removals.empty() || !plan.creations.empty() || !plan.attributes.empty();
  const bool pressing =
      batches.targets.size() > 1 ||
      std::any_of(plan.targets.begin(), plan.targets.end(),
                  [&](const auto& step) { return !window[step.wish]->wish.known_id.empty(); });
  const bool targets_next = !plan.targets.empty() && (!others || (pressing && !targets_last_));
  targets_last_ = targets_next;
  const std::size_t bound = limits.serial_writes ? 1 : kParallelCalls;
  Round round;
  if (targets_next) {
    round.kind = Kind::targets;
    round.targets = independent(std::move(batches.targets), bound);
    return round;
  }
  // The other kinds take turns.
  Kind kind = last_other_;
  for (int i = 0; i < 3 && round.kind == Kind::none; ++i) {
    kind = kind == Kind::removals    ? Kind::creations
           : kind == Kind::creations ? Kind::attributes
                                     : Kind::removals;
    if (kind == Kind::removals && !batches.removals.empty()) {
      round.removals = independent(std::move(batches.removals), bound);
      round.kind = kind;
    } else if (kind == Kind::creations && !batches.creations.empty()) {
      round.creations = independent(std::move(batches.creations), bound);
      round.kind = kind;
    } else if (kind == Kind::attributes && !batches.attributes.empty()) {
      round.attributes = independent(std::move(batches.attributes), bound);
      round.kind = kind;
    }
  }
  if (round.kind != Kind::none) last_other_ = round.kind;
  return round;
}

template <class Value>
void Desk::note_whole_call(const std::vector<Result<Value>>& results) {
  const bool any = std::any_of(results.begin(), results.end(), [](const auto& result) {
    return result || treatment_of(result.error().code) != Treatment::again;
  });
  if (any) {
    attempts_ = 0;
    return;
  }
  // Nothing gets through: the others need not try.
  ++attempts_;
  not_before_ = now() + office_.delay(Treatment::again, attempts_, results.front().error());
}

template <class Step, class Call, class Done>
void Desk::run_calls(const Context& context, const std::vector<std::vector<Step>>& batches,
                     Window& window, Call call, Done done) {
  using Results = decltype(call(context, batches.front()));
  Budget& budget = office_.budgets.of(lb_.provider);
  std::size_t count = 0;
  while (count < batches.size()) {
    const Instant at = budget.take(now());
    if (at > now()) {
      if (count == 0) not_before_ = std::max(not_before_, at);
      break;
    }
    ++count;
  }
  if (count == 0 || !may_write() || stale_) return;

  std::vector<Results> results(count);
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
  for (std::size_t i = 0; i < count; ++i) {
    ++writes_since_list_;
    note_whole_call(results[i]);
    for (std::size_t k = 0; k < batches[i].size(); ++k) {
      const Step& step = batches[i][k];
      auto& result = results[i][k];
      if (result) done(step, result);
      OpenWish*& wish = window[step.wish];
      if (!wish) continue;  // it had another step, which ended it
      wish->touched = true;
      if (result) {
        ++wish->writes;
        wish->attempts = 0;
      } else if (failed(*wish, result.error()) == After::dropped) {
        wish = nullptr;
      }
    }
  }
}

void Desk::act(const Context& context, const Round& round, Window& window) {
  const Line line{*driver_, lb_, office_};
  switch (round.kind) {
    case Kind::none: return;
    case Kind::removals:
      run_calls(
          context, round.removals, window,
          [&](const Context& own, const std::vector<lb::Removal>& steps) {
            std::vector<std::string> ids;
            for (const lb::Removal& step : steps) ids.push_back(step.id);
            return remove_listeners(own, line, ids);
          },
          [&](const lb::Removal& step, Result<>&) { known_.erase(step.id); });
      wake_those_that_wait_for_room();
      return;
    case Kind::creations:
      run_calls(
          context, round.creations, window,
          [&](const Context& own, const std::vector<lb::Creation>& steps) {
            std::vector<model::ListenerSpec> specs;
            for (const lb::Creation& step : steps) specs.push_back(*window[step.wish]->wish.spec);
            return create_listeners(own, line, specs);
          },
          [&](const lb::Creation& step, Result<std::string>& id) {
            lb::KnownListener created{*id, *window[step.wish]->wish.spec, true};
            created.spec.targets.clear();
            known_.put(std::move(created));
          });
      return;
    case Kind::attributes:
      run_calls(
          context, round.attributes, window,
          [&](const Context& own, const std::vector<lb::AttributeStep>& steps) {
            std::vector<lb::AttributeChange> changes;
            for (const lb::AttributeStep& step : steps) changes.push_back(step.change);
            return change_attributes(own, line, changes);
          },
          [&](const lb::AttributeStep& step, Result<>&) { known_.change(step.change); });
      return;
    case Kind::targets:
      run_calls(
          context, round.targets, window,
          [&](const Context& own, const std::vector<lb::TargetStep>& steps) {
            std::vector<lb::TargetChange> changes;
            for (const lb::TargetStep& step : steps) changes.push_back(step.change);
            return change_targets(own, line, changes);
          },
          [&](const lb::TargetStep& step, Result<>&) { known_.change(step.change); });
      return;
  }
}

}  // namespace berth::engine
