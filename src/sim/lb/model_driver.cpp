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

Call call_of(berth::lb::Action action) {
  switch (action) {
    case berth::lb::Action::list_listeners: return Call::list;
    case berth::lb::Action::look_up_listeners: return Call::look_up;
    case berth::lb::Action::create_listeners: return Call::create;
    case berth::lb::Action::remove_listeners: return Call::remove;
    case berth::lb::Action::change_listeners: return Call::change_listeners;
    case berth::lb::Action::create_rules: return Call::create_rules;
    case berth::lb::Action::remove_rules: return Call::remove_rules;
    case berth::lb::Action::change_rules: return Call::change_rules;
    case berth::lb::Action::change_targets: break;
  }
  return Call::targets;
}

std::string label_of(Call call, const LoadBalancerRef& lb) {
  return fmt::format("{} {}", to_string(call), lb.id);
}

// The group that is made before it. A listener of layer 7 has none: its rules have them.
std::optional<Group> group_for(const model::ListenerSpec& spec) {
  if (is_layer7(spec.protocol)) return std::nullopt;
  return Group{spec.name, spec.protocol, spec.ports, {}, {}};
}
std::optional<Group> group_for(const NewRule& rule) {
  return Group{.key = rule.rule.key, .user = rule.rule.listener};
}

using Groups = std::map<ListenerId, Group>;

// What there is of it is a group alone.
bool is_half(const ListenerId& id, const Groups& groups) { return groups.contains(id); }
bool is_half(const RuleRef&, const Groups&) { return false; }

std::vector<ListenerId> groups_of(const ListenerId& listener, const Groups& groups) {
  std::vector<ListenerId> out;
  for (const auto& [id, group] : groups)
    if (id == listener || group.user == listener) out.push_back(id);
  return out;
}
std::vector<ListenerId> groups_of(const RuleRef& rule, const Groups& groups) {
  std::vector<ListenerId> out;
  for (const auto& [id, group] : groups)
    if (group.user == rule.listener && group.key == rule.key) out.push_back(id);
  return out;
}

// Whether the same call would soon fail in the same way: then its group shall not wait for it.
bool is_final(Code code) {
  switch (code) {
    case Code::invalid:
    case Code::unsupported:
    case Code::already_exists:
    case Code::not_found:
    case Code::exhausted:
    case Code::forbidden: return true;
    default: return false;
  }
}

// It failed, and a part of it is done.
Failure in_part(const Error& error) {
  if (error.code == Code::timeout || error.code == Code::stopped) return fail(error);
  Error out = error_of(Code::conflict, "only a part is done: {}", error.message);
  out.retry_after = error.retry_after;
  return fail(out);
}

}  // namespace

berth::lb::Budget& ModelDriver::budget(std::string_view call, const LoadBalancerRef& lb) const {
  return budgets_.of({lb.provider, lb.account, lb.region, std::string(call)});
}

Instant ModelDriver::free_at(const Place& place, berth::lb::Action action, std::size_t calls,
                             Instant now) const {
  return budget(to_string(call_of(action)), place.lb).free_at(now, calls);
}

template <class F>
auto ModelDriver::reach(const Context& context, berth::lb::Budget& budget, std::string_view label,
                        Effect effect, F apply) ->
    typename SeamReplyOf<std::invoke_result_t<F&, Instant>>::type {
  if (context.expired()) return fail(context.end_error());
  if (Result<> paid = berth::lb::pay(context, budget); !paid) return pass(paid);
  const Duration latency = provider_.draw_latency();
  if (latency > Duration::zero() && !sleep_for(context.tasks, latency, context.stop)) {
    return fail(context.end_error());
  }
  Tasks& tasks = context.tasks;
  typename SeamReplyOf<std::invoke_result_t<F&, Instant>>::type reply =
      process_ ? seam(*process_, label, effect, [&] { return apply(tasks.now()); })
               : apply(tasks.now());
  // What became of the entries of a write is told when it is known.
  if (!reply || effect == Effect::read) berth::lb::tell(budget, tasks.now(), reply);
  return reply;
}

std::vector<Result<model::LoadBalancerInfo>> ModelDriver::describe(
    const Context& context, const model::CredentialId& credential,
    std::span<const LoadBalancerRef> lbs) {
  if (lbs.empty()) return {};
  auto described =
      reach(context, budget("describe", lbs.front()), label_of(Call::describe, lbs.front()),
            Effect::read, [&](Instant now) { return provider_.describe(credential, lbs, now); });
  if (described) return std::move(*described);
  return std::vector<Result<model::LoadBalancerInfo>>(
      lbs.size(), Result<model::LoadBalancerInfo>(pass(described)));
}

Result<std::vector<berth::lb::FoundLoadBalancer>> ModelDriver::search(
    const Context& context, const model::CredentialId& credential,
    const berth::lb::DirectoryQuery& query) {
  const LoadBalancerRef anywhere{.region = query.region, .account = query.account};
  return reach(context, budget("search", anywhere), "search " + query.name, Effect::read,
               [&](Instant now) { return provider_.search(credential, query, now); });
}

Result<std::vector<ObservedListener>> ModelDriver::list(const Context& context,
                                                        const Place& place) {
  return reach(context, budget("list", place.lb), label_of(Call::list, place.lb), Effect::read,
               [&](Instant now) { return provider_.list(place, now); });
}

Result<std::vector<ObservedListener>> ModelDriver::look_up(const Context& context,
                                                           const Place& place,
                                                           std::span<const Question> questions) {
  return reach(context, budget("look_up", place.lb), label_of(Call::look_up, place.lb),
               Effect::read, [&](Instant now) { return provider_.look_up(place, questions, now); });
}

template <class F>
ModelDriver::Results ModelDriver::write(const Context& context, const LoadBalancerRef& lb,
                                        Call call, std::size_t size, F apply) {
  const auto all_fail = [&](const Error& error) {
    return Results(size, Result<ListenerId>(fail(error)));
  };
  berth::lb::Budget& pays = budget(to_string(call), lb);
  Result<Reply> reply = reach(context, pays, label_of(call, lb), Effect::write,
                              [&](Instant now) -> Result<Reply> { return apply(now); });
  if (!reply) return all_fail(reply.error());
  auto results = reply->task ? await_task(context, lb, *reply) : std::move(reply->results);
  if (!results) return all_fail(results.error());
  berth::lb::tell(pays, context.tasks.now(), *results);
  return std::move(*results);
}

Result<ModelDriver::Results> ModelDriver::await_task(const Context& context,
                                                     const LoadBalancerRef& lb,
                                                     const Reply& reply) {
  for (;;) {
    const Instant now = context.tasks.now();
    if (context.expired()) return fail(context.end_error());
    const Instant until = std::min(std::max(reply.task_over, now), context.deadline);
    if (until > now && !sleep_for(context.tasks, until - now, context.stop)) {
      return fail(context.end_error());
    }
    if (context.tasks.now() < reply.task_over) continue;
    auto results = reach(context, budget("task", lb), "task status", Effect::read, [&](Instant at) {
      return Result<std::optional<Results>>(provider_.results_of(*reply.task, at));
    });
    if (!results) return pass(results);
    if (*results) return std::move(**results);
    return fail(Code::internal, "task {} has no results", *reply.task);
  }
}

ModelDriver::Results ModelDriver::create_bare(const Context& context, const Place& place,
                                              std::vector<model::ListenerSpec> wanted) {
  return write(context, place.lb, Call::create, wanted.size(),
               [&](Instant now) { return provider_.create(place, wanted, now); });
}

ModelDriver::Results ModelDriver::remove_bare(const Context& context, const Place& place,
                                              std::vector<ListenerId> ids) {
  return write(context, place.lb, Call::remove, ids.size(),
               [&](Instant now) { return provider_.remove(place, ids, now); });
}

ModelDriver::Results ModelDriver::create_bare(const Context& context, const Place& place,
                                              std::vector<NewRule> wanted) {
  return write(context, place.lb, Call::create_rules, wanted.size(),
               [&](Instant now) { return provider_.create_rules(place, wanted, now); });
}

ModelDriver::Results ModelDriver::remove_bare(const Context& context, const Place& place,
                                              std::vector<RuleRef> rules) {
  return write(context, place.lb, Call::remove_rules, rules.size(),
               [&](Instant now) { return provider_.remove_rules(place, rules, now); });
}

std::vector<Result<ListenerId>> ModelDriver::create(const Context& context, const Place& place,
                                                    std::span<const model::ListenerSpec> wanted) {
  return create_grouped(context, place, wanted);
}

std::vector<Result<>> ModelDriver::remove(const Context& context, const Place& place,
                                          std::span<const ListenerId> ids) {
  return without_ids(remove_grouped(context, place, ids));
}

std::vector<Result<>> ModelDriver::change(const Context& context, const Place& place,
                                          std::span<const ListenerChange> changes) {
  return without_ids(write(
      context, place.lb, Call::change_listeners, changes.size(),
      [&](Instant now) { return provider_.change(place, {changes.begin(), changes.end()}, now); }));
}

std::vector<Result<>> ModelDriver::create_rules(const Context& context, const Place& place,
                                                std::span<const NewRule> wanted) {
  return without_ids(create_grouped(context, place, wanted));
}

std::vector<Result<>> ModelDriver::remove_rules(const Context& context, const Place& place,
                                                std::span<const RuleRef> rules) {
  return without_ids(remove_grouped(context, place, rules));
}

std::vector<Result<>> ModelDriver::change_rules(const Context& context, const Place& place,
                                                std::span<const RuleChange> changes) {
  return without_ids(write(context, place.lb, Call::change_rules, changes.size(), [&](Instant now) {
    return provider_.change_rules(place, {changes.begin(), changes.end()}, now);
  }));
}

std::vector<Result<>> ModelDriver::change_targets(const Context& context, const Place& place,
                                                  std::span<const TargetChange> changes) {
  return without_ids(write(context, place.lb, Call::targets, changes.size(), [&](Instant now) {
    return provider_.change_targets(place, {changes.begin(), changes.end()}, now);
  }));
}

// --- Groups.

// One for each entry: the group, nothing where none is needed, or why there is none.
template <class Wanted>
ModelDriver::Results ModelDriver::create_groups(const Context& context, const Place& place,
                                                std::span<const Wanted> wanted) {
  Results out(wanted.size(), Result<ListenerId>(ListenerId{}));
  std::vector<Group> needed;
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto group = group_for(wanted[i]);
    if (!group) continue;
    needed.push_back(std::move(*group));
    at.push_back(i);
  }
  if (needed.empty()) return out;
  Results made = write(context, place.lb, Call::create_groups, needed.size(),
                       [&](Instant now) { return provider_.create_groups(place, needed, now); });
  for (std::size_t k = 0; k < made.size(); ++k) out[at[k]] = std::move(made[k]);
  return out;
}

ModelDriver::Results ModelDriver::remove_groups(const Context& context, const Place& place,
                                                const std::vector<std::vector<ListenerId>>& ids) {
  Results out(ids.size(), Result<ListenerId>(ListenerId{}));
  std::vector<std::pair<std::size_t, ListenerId>> all;
  for (std::size_t i = 0; i < ids.size(); ++i)
    for (const ListenerId& id : ids[i]) all.emplace_back(i, id);
  const std::size_t batch = group_batch(abilities());
  for (std::size_t first = 0; first < all.size(); first += batch) {
    const std::size_t size = std::min(batch, all.size() - first);
    std::vector<ListenerId> part;
    for (std::size_t i = 0; i < size; ++i) part.push_back(all[first + i].second);
    const Results results = write(context, place.lb, Call::remove_groups, size, [&](Instant now) {
      return provider_.remove_groups(place, part, now);
    });
    for (std::size_t i = 0; i < size; ++i)
      if (!results[i] && out[all[first + i].first]) out[all[first + i].first] = results[i];
  }
  return out;
}

template <class Wanted>
ModelDriver::Results ModelDriver::create_grouped(const Context& context, const Place& place,
                                                 std::span<const Wanted> wanted) {
  if (!provider_.options().groups)
    return create_bare(context, place, std::vector(wanted.begin(), wanted.end()));
  const Results groups = create_groups(context, place, wanted);
  Results out = groups;
  std::vector<Wanted> ready;
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!groups[i]) continue;
    ready.push_back(wanted[i]);
    at.push_back(i);
  }
  if (ready.empty()) return out;
  Results made = create_bare(context, place, std::move(ready));
  for (std::size_t k = 0; k < made.size(); ++k) out[at[k]] = std::move(made[k]);
  discard_useless(context, place, groups, out);
  return out;
}

// What was refused for good needs its group no more. Of what may be tried again it stays, and
// whoever asked must know.
void ModelDriver::discard_useless(const Context& context, const Place& place, const Results& groups,
                                  Results& out) {
  std::vector<std::vector<ListenerId>> useless(out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool has_group = groups[i] && !groups[i]->empty();
    if (!out[i] && has_group && is_final(out[i].error().code)) useless[i] = {*groups[i]};
  }
  const Results removed = remove_groups(context, place, useless);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] || !groups[i] || groups[i]->empty()) continue;
    const bool is_clean =
        !useless[i].empty() && (removed[i] || removed[i].error().code == Code::not_found);
    if (!is_clean) out[i] = in_part(out[i].error());
  }
}

template <class Gone>
ModelDriver::Results ModelDriver::remove_grouped(const Context& context, const Place& place,
                                                 std::span<const Gone> gone) {
  if (!provider_.options().groups)
    return remove_bare(context, place, std::vector(gone.begin(), gone.end()));
  auto groups =
      reach(context, budget("list_groups", place.lb), label_of(Call::list_groups, place.lb),
            Effect::read, [&](Instant now) { return provider_.list_groups(place, now); });
  if (!groups) return Results(gone.size(), Result<ListenerId>(pass(groups)));
  Results out(gone.size(), Result<ListenerId>(ListenerId{}));
  std::vector<std::vector<ListenerId>> theirs(gone.size());
  std::vector<Gone> whole;
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    theirs[i] = groups_of(gone[i], *groups);
    if (is_half(gone[i], *groups)) continue;
    whole.push_back(gone[i]);
    at.push_back(i);
  }
  Results removed = whole.empty() ? Results{} : remove_bare(context, place, std::move(whole));
  for (std::size_t k = 0; k < removed.size(); ++k) {
    if (removed[k]) continue;
    out[at[k]] = std::move(removed[k]);
    theirs[at[k]].clear();  // they are used
  }
  const Results cleared = remove_groups(context, place, theirs);
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (!cleared[i]) out[i] = is_half(gone[i], *groups) ? cleared[i] : in_part(cleared[i].error());
  }
  return out;
}

// --- Load balancers.

std::vector<Result<LoadBalancerRef>> ModelDriver::make(
    const Context& context, const model::CredentialId& credential,
    std::span<const berth::lb::NewLoadBalancer> wanted) {
  std::vector<Result<LoadBalancerRef>> out;
  for (const auto& one : wanted) out.push_back(make_one(context, credential, one));
  return out;
}

Result<LoadBalancerRef> ModelDriver::make_one(const Context& context,
                                              const model::CredentialId& credential,
                                              const berth::lb::NewLoadBalancer& wanted) {
  const LoadBalancerRef name{.id = wanted.name};
  const Results begun = write(context, name, Call::make, 1,
                              [&](Instant now) { return provider_.make(credential, wanted, now); });
  if (!begun[0]) return fail(begun[0].error());
  const auto lb = provider_.made(wanted);  // as the reply says
  if (!lb) return fail(Code::not_found, "{} is gone again", wanted.name);
  const Results tagged = write(context, *lb, Call::tag, 1,
                               [&](Instant now) { return provider_.tag({*lb, credential}, now); });
  if (!tagged[0]) return fail(tagged[0].error());
  return *lb;
}

std::vector<Result<>> ModelDriver::remove(const Context& context,
                                          const model::CredentialId& credential,
                                          std::span<const LoadBalancerRef> lbs,
                                          const berth::lb::Tag& mark) {
  std::vector<Result<>> out;
  for (const LoadBalancerRef& lb : lbs) {
    out.push_back(
        std::move(without_ids(write(context, lb, Call::remove_load_balancer, 1, [&](Instant now) {
                    return provider_.unmake({lb, credential}, mark, now);
                  })).front()));
  }
  return out;
}

std::vector<berth::lb::TargetHealth> ModelDriver::health_of(const Place& place,
                                                            const RuleRef& rule) const {
  std::vector<berth::lb::TargetHealth> out = provider_.health(place.lb);
  std::erase_if(out, [&](const berth::lb::TargetHealth& one) { return one.rule != rule; });
  return out;
}

}  // namespace berth::sim::lb
