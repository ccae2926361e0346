#include "engine/calls.h"

#include <algorithm>

namespace berth::engine {
namespace {

template <class T>
CallResult sum_up(const std::vector<Result<T>>& results) {
  CallResult out{.entries = results.size()};
  for (const auto& result : results) {
    if (result) continue;
    if (out.failed++ == 0) out.code = result.error().code;
  }
  return out;
}

// `call(context)` gives one result for each of `size` entries.
template <class F>
auto make(const Context& context, const Line& line, Action action, std::size_t size, F call)
    -> std::invoke_result_t<F&, const Context&> {
  Tasks& tasks = context.tasks;
  const Instant start = tasks.now();
  auto results = call(context.within(line.shared.options.call_limit));
  while (results.size() < size) {
    results.emplace_back(fail(Code::internal, "the driver gave no result for this entry"));
  }
  const Instant end = tasks.now();
  line.shared.metrics.call(line.place.lb.provider, to_string(action), sum_up(results), end - start,
                           !line.driver.counts_requests());
  return results;
}

}  // namespace

Result<std::vector<lb::ObservedListener>> list_listeners(const Context& context, const Line& line) {
  auto results = make(context, line, Action::list_listeners, 1, [&](const Context& bounded) {
    std::vector<Result<std::vector<lb::ObservedListener>>> one;
    one.push_back(line.driver.list(bounded, line.place));
    return one;
  });
  return std::move(results.front());
}

Result<std::vector<lb::ObservedListener>> look_up_listeners(
    const Context& context, const Line& line, std::span<const lb::Question> questions) {
  auto results = make(context, line, Action::look_up_listeners, 1, [&](const Context& bounded) {
    std::vector<Result<std::vector<lb::ObservedListener>>> one;
    one.push_back(line.driver.look_up(bounded, line.place, questions));
    return one;
  });
  return std::move(results.front());
}

std::vector<Result<model::ListenerId>> create_listeners(
    const Context& context, const Line& line, std::span<const model::ListenerSpec> wanted) {
  return make(context, line, Action::create_listeners, wanted.size(), [&](const Context& bounded) {
    return line.driver.create(bounded, line.place, wanted);
  });
}

std::vector<Result<>> remove_listeners(const Context& context, const Line& line,
                                       std::span<const model::ListenerId> ids) {
  return make(context, line, Action::remove_listeners, ids.size(),
              [&](const Context& bounded) { return line.driver.remove(bounded, line.place, ids); });
}

std::vector<Result<>> change_listeners(const Context& context, const Line& line,
                                       std::span<const lb::ListenerChange> changes) {
  return make(context, line, Action::change_listeners, changes.size(), [&](const Context& bounded) {
    return line.driver.change(bounded, line.place, changes);
  });
}

std::vector<Result<>> create_rules(const Context& context, const Line& line,
                                   std::span<const lb::NewRule> wanted) {
  return make(context, line, Action::create_rules, wanted.size(), [&](const Context& bounded) {
    return line.driver.create_rules(bounded, line.place, wanted);
  });
}

std::vector<Result<>> remove_rules(const Context& context, const Line& line,
                                   std::span<const lb::RuleRef> rules) {
  return make(context, line, Action::remove_rules, rules.size(), [&](const Context& bounded) {
    return line.driver.remove_rules(bounded, line.place, rules);
  });
}

std::vector<Result<>> change_rules(const Context& context, const Line& line,
                                   std::span<const lb::RuleChange> changes) {
  return make(context, line, Action::change_rules, changes.size(), [&](const Context& bounded) {
    return line.driver.change_rules(bounded, line.place, changes);
  });
}

std::vector<Result<>> change_targets(const Context& context, const Line& line,
                                     std::span<const lb::TargetChange> changes) {
  return make(context, line, Action::change_targets, changes.size(), [&](const Context& bounded) {
    return line.driver.change_targets(bounded, line.place, changes);
  });
}

}  // namespace berth::engine
