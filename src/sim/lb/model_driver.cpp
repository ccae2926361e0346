#include "sim/lb/model_driver.h"

namespace berth::sim::lb {
namespace {

using berth::lb::ListenerChange;
using berth::lb::NewRule;
using berth::lb::ObservedListener;
using berth::lb::Place;
using berth::lb::Question;
using berth::lb::RuleChange;
using berth::lb::RuleRef;
using berth::lb::TargetChange;
using model::ListenerId;
using model::LoadBalancerRef;

std::vector<Result<>> without_ids(std::vector<Result<ListenerId>> results) {
  std::vector<Result<>> out;
  out.reserve(results.size());
  for (auto& result : results) {
    if (result) {
      out.emplace_back();
    } else {
      out.emplace_back(pass(result));
    }
  }
  return out;
}

std::string label_of(Call call, const LoadBalancerRef& lb) {
  return fmt::format("{} {}", to_string(call), lb.id);
}

}  // namespace

template <class F>
auto ModelDriver::reach(const Context& context, std::string_view label, Effect effect, F apply) ->
    typename SeamReplyOf<std::invoke_result_t<F&, Instant>>::type {
  if (context.expired()) return fail(context.end_error());
  const Duration latency = provider_.draw_latency();
  if (latency > Duration::zero() && !sleep_for(context.tasks, latency, context.stop)) {
    return fail(context.end_error());
  }
  Tasks& tasks = context.tasks;
  if (!process_) return apply(tasks.now());
  return seam(*process_, label, effect, [&] { return apply(tasks.now()); });
}

std::vector<Result<model::LoadBalancerInfo>> ModelDriver::describe(
    const Context& context, const model::CredentialId&, std::span<const LoadBalancerRef> lbs) {
  std::vector<Result<model::LoadBalancerInfo>> out;
  for (const LoadBalancerRef& lb : lbs) {
    out.push_back(reach(context, label_of(Call::describe, lb), Effect::read,
                        [&](Instant now) { return provider_.describe(lb, now); }));
  }
  return out;
}

Result<std::vector<berth::lb::FoundLoadBalancer>> ModelDriver::search(
    const Context& context, const model::CredentialId&, const berth::lb::DirectoryQuery& query) {
  return reach(context, "search " + query.name, Effect::read,
               [&](Instant now) { return provider_.search(query, now); });
}

Result<std::vector<ObservedListener>> ModelDriver::list(const Context& context,
                                                        const Place& place) {
  return reach(context, label_of(Call::list, place.lb), Effect::read,
               [&](Instant now) { return provider_.list(place.lb, now); });
}

Result<std::vector<ObservedListener>> ModelDriver::look_up(const Context& context,
                                                           const Place& place,
                                                           std::span<const Question> questions) {
  return reach(context, label_of(Call::look_up, place.lb), Effect::read,
               [&](Instant now) { return provider_.look_up(place.lb, questions, now); });
}

template <class F>
ModelDriver::Results ModelDriver::write(const Context& context, const LoadBalancerRef& lb,
                                        Call call, std::size_t size, F apply) {
  const auto all_fail = [&](const Error& error) {
    return Results(size, Result<ListenerId>(fail(error)));
  };
  Result<Reply> reply = reach(context, label_of(call, lb), Effect::write,
                              [&](Instant now) -> Result<Reply> { return apply(now); });
  if (!reply) return all_fail(reply.error());
  if (!reply->task) return std::move(reply->results);
  auto results = await_task(context, *reply);
  if (!results) return all_fail(results.error());
  return std::move(*results);
}

Result<ModelDriver::Results> ModelDriver::await_task(const Context& context, const Reply& reply) {
  for (;;) {
    const Instant now = context.tasks.now();
    if (context.expired()) return fail(context.end_error());
    const Instant until = std::min(std::max(reply.task_over, now), context.deadline);
    if (until > now && !sleep_for(context.tasks, until - now, context.stop)) {
      return fail(context.end_error());
    }
    if (context.tasks.now() < reply.task_over) continue;
    auto results = reach(context, "task status", Effect::read, [&](Instant at) {
      return Result<std::optional<Results>>(provider_.results_of(*reply.task, at));
    });
    if (!results) return pass(results);
    if (*results) return std::move(**results);
    return fail(Code::internal, "task {} has no results", *reply.task);
  }
}

std::vector<Result<ListenerId>> ModelDriver::create(const Context& context, const Place& place,
                                                    std::span<const model::ListenerSpec> wanted) {
  return write(context, place.lb, Call::create, wanted.size(), [&](Instant now) {
    return provider_.create(place.lb, {wanted.begin(), wanted.end()}, now);
  });
}

std::vector<Result<>> ModelDriver::remove(const Context& context, const Place& place,
                                          std::span<const ListenerId> ids) {
  return without_ids(write(context, place.lb, Call::remove, ids.size(), [&](Instant now) {
    return provider_.remove(place.lb, {ids.begin(), ids.end()}, now);
  }));
}

std::vector<Result<>> ModelDriver::change(const Context& context, const Place& place,
                                          std::span<const ListenerChange> changes) {
  return without_ids(
      write(context, place.lb, Call::change_listeners, changes.size(), [&](Instant now) {
        return provider_.change(place.lb, {changes.begin(), changes.end()}, now);
      }));
}

std::vector<Result<>> ModelDriver::create_rules(const Context& context, const Place& place,
                                                std::span<const NewRule> wanted) {
  return without_ids(write(context, place.lb, Call::create_rules, wanted.size(), [&](Instant now) {
    return provider_.create_rules(place.lb, {wanted.begin(), wanted.end()}, now);
  }));
}

std::vector<Result<>> ModelDriver::remove_rules(const Context& context, const Place& place,
                                                std::span<const RuleRef> rules) {
  return without_ids(write(context, place.lb, Call::remove_rules, rules.size(), [&](Instant now) {
    return provider_.remove_rules(place.lb, {rules.begin(), rules.end()}, now);
  }));
}

std::vector<Result<>> ModelDriver::change_rules(const Context& context, const Place& place,
                                                std::span<const RuleChange> changes) {
  return without_ids(write(context, place.lb, Call::change_rules, changes.size(), [&](Instant now) {
    return provider_.change_rules(place.lb, {changes.begin(), changes.end()}, now);
  }));
}

std::vector<Result<>> ModelDriver::change_targets(const Context& context, const Place& place,
                                                  std::span<const TargetChange> changes) {
  return without_ids(write(context, place.lb, Call::targets, changes.size(), [&](Instant now) {
    return provider_.change_targets(place.lb, {changes.begin(), changes.end()}, now);
  }));
}

}  // namespace berth::sim::lb
