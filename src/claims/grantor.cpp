#include "claims/grantor.h"

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>
#include <map>
#include <optional>

#include "api/keys.h"
#include "api/walkers.h"

namespace berth::claims {
namespace {

using wire::Array;
using wire::Object;

// The leader alone grants: more than a few losses in a row are a defect.
constexpr int kMaxTries = 10;

ledger::Grant from_api(const api::Grant& grant) {
  return {.transport = model::parse_transport(grant.protocol).value_or(model::Transport::tcp),
          .ports = {static_cast<model::Port>(grant.start_port),
                    static_cast<model::Port>(grant.end_port)},
          .owner = {grant.owner_kind, grant.owner_namespace, grant.owner_name, grant.owner_uid},
          .item = grant.item,
          .since = parse_rfc3339(grant.since).value_or(WallTime{})};
}

// A pool has many Listeners, and nearly all of them do: what they hold is not written out for that.
bool stands_in(const api::Listener& listener, const std::vector<ledger::Grant>& grants) {
  const kube::OwnerReference* const owner = listener.meta.controller();
  if (!owner) return true;  // nobody's
  return std::ranges::all_of(transports_of(listener), [&](model::Transport transport) {
    return ledger::is_granted(grants, {owner->uid, listener.meta.ns.view(), item_of(listener),
                                       transport, api::ports_of(listener.spec)});
  });
}

// One too many is refused alone, and not all that are written with it.
Result<std::vector<ledger::Grant>> with_one(const std::vector<ledger::Grant>& grants,
                                            const ledger::Grant& wanted,
                                            const std::vector<ledger::Holding>& held) {
  Result<std::vector<ledger::Grant>> next = ledger::with_grant(grants, wanted, held);
  if (!next || next->size() <= api::kMaxGrants) return next;
  return fail(error_of(Code::exhausted, "has {} ranges of ports in use, as many as it can have",
                       grants.size())
                  .with_hint("use another load balancer, or fewer and longer ranges"));
}

Array encode(const std::vector<ledger::Grant>& grants) {
  Array out;
  for (const ledger::Grant& grant : grants) out.push_back(api::encode(to_api(grant)));
  return out;
}

}  // namespace

Result<model::LoadBalancerRef> ref_of(const api::LoadBalancer& object) {
  const Result<model::Provider> provider = model::parse_provider(object.spec.provider);
  if (!provider) {
    return fail(
        Error(provider.error()).about("LoadBalancer " + object.meta.name).at("spec.provider"));
  }
  return model::with_id_text({*provider, object.spec.region, "", object.spec.account},
                             object.spec.load_balancer_id);
}

api::Grant to_api(const ledger::Grant& grant) {
  return {.protocol = std::string(model::to_string(grant.transport)),
          .start_port = grant.ports.first,
          .end_port = grant.ports.last,
          .owner_kind = grant.owner.kind,
          .owner_namespace = grant.owner.ns,
          .owner_name = grant.owner.name,
          .owner_uid = grant.owner.uid,
          .item = grant.item,
          .since = format_rfc3339_micro(grant.since)};
}

std::vector<ledger::Grant> grants_of(const api::LoadBalancer& object) {
  std::vector<ledger::Grant> out;
  for (const api::Grant& grant : object.spec.grants) out.push_back(from_api(grant));
  return out;
}

std::vector<ledger::Grant> Grantor::grants(const model::LoadBalancerRef& lb) const {
  const auto object = balancers_.get({"", model::object_name(lb)});
  return object ? grants_of(*object) : std::vector<ledger::Grant>{};
}

std::vector<ledger::Holding> Grantor::holdings(std::string_view balancer,
                                               const std::vector<ledger::Grant>& grants,
                                               const WhichListeners& which) const {
  return holdings_on(listeners_, balancer, sealer_, grants, which);
}

std::vector<ledger::Holding> Grantor::holdings(const model::LoadBalancerRef& lb,
                                               const WhichListeners& which) const {
  return holdings(model::object_name(lb), grants(lb), which);
}

Result<> Grantor::grant(const Context& context, const model::LoadBalancerRef& lb,
                        const ledger::Grant& wanted) {
  const std::string name = model::object_name(lb);
  Waiting mine{.wanted = wanted, .changed = context.tasks.signal()};
  {
    const MutexLock lock(mu_);
    const auto [it, is_first] = waiting_.try_emplace(name);
    it->second.push_back(&mine);
    mine.writes = is_first;
  }
  for (;;) {
    bool writes = false;
    {
      const MutexLock lock(mu_);
      if (mine.answer) return std::move(*mine.answer);
      writes = mine.writes;
    }
    if (writes) {
      const Batch batch = begin_write(name);
      end_write(name, batch, decide(context, lb, batch));
    } else {
      // Whoever writes has a deadline, and ends when this process does.
      (void)context.tasks.wait(*mine.changed, Instant::max(), {});
    }
  }
}

Grantor::Batch Grantor::begin_write(const std::string& balancer) {
  const MutexLock lock(mu_);
  return std::exchange(waiting_[balancer], {});
}

void Grantor::end_write(const std::string& balancer, const Batch& batch, Answers answers) {
  const MutexLock lock(mu_);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch[i]->answer = std::move(answers[i]);
    batch[i]->changed->notify();
  }
  const auto it = waiting_.find(balancer);
  if (it->second.empty()) {
    waiting_.erase(it);
  } else {
    it->second.front()->writes = true;
    it->second.front()->changed->notify();
  }
}

Grantor::Answers Grantor::decide(const Context& context, const model::LoadBalancerRef& lb,
                                 const Batch& batch) {
  Answers answers(batch.size());
  Result<bool> done = false;
  for (int i = 0; i < kMaxTries && done && !*done; ++i)
    done = try_write(context, lb, batch, answers);
  if (done && !*done)
    done = fail(error_of(Code::conflict, "grants changed {} times in a row", kMaxTries)
                    .about(model::to_string(lb)));
  for (std::optional<Result<>>& answer : answers)
    if (!answer) answer = done ? Result<>{} : Result<>(fail(done.error()));
  return answers;
}

Result<bool> Grantor::try_write(const Context& context, const model::LoadBalancerRef& lb,
                                const Batch& batch, Answers& answers) {
  const std::string name = model::object_name(lb);
  const auto object = balancers_.get({"", name});
  std::vector<std::size_t> added;
  Result<> written;
  if (object) {
    const std::vector<ledger::Grant> next =
        with_batch(lb, grants_of(*object), batch, answers, added);
    if (added.empty()) return true;
    written = swap(context, *object, next);
  } else {
    written = rebuild(context, lb, batch);
  }
  if (written) {
    for (const std::size_t i : added) answers[i] = Result<>{};
    return object != nullptr;  // one that was made anew is looked at once more
  }
  if (!kube::was_overtaken(written.error()) && written.error().code != Code::already_exists)
    return pass(written);
  if (Result<> fresh = refresh(context, name); !fresh) return pass(fresh);
  return false;
}

std::vector<ledger::Grant> Grantor::with_batch(const model::LoadBalancerRef& lb,
                                               const std::vector<ledger::Grant>& grants,
                                               const Batch& batch, Answers& answers,
                                               std::vector<std::size_t>& added) const {
  std::vector<WhichListeners> which;
  for (const Waiting* const one : batch)
    which.push_back(around(one->wanted.owner.uid, one->wanted.ports));
  const std::vector<ledger::Holding> held =
      holdings(model::object_name(lb), grants, [&](const api::Listener& listener) {
        return std::ranges::any_of(which, [&](const auto& matters) { return matters(listener); });
      });
  std::vector<ledger::Grant> next = grants;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (answers[i]) continue;
    const ledger::Grant& wanted = batch[i]->wanted;
    Result<> answer;
    if (ledger::has_grant(grants, wanted)) {
      answer = ledger::check_unheld(held, wanted);
    } else if (Result<std::vector<ledger::Grant>> more = with_one(next, wanted, held)) {
      next = std::move(*more);
      added.push_back(i);
      continue;
    } else {
      answer = pass(more);
    }
    answers[i] =
        answer ? answer : Result<>(fail(Error(answer.error()).about(model::to_string(lb))));
  }
  return next;
}

Result<> Grantor::restore(const Context& context, const std::vector<ListenerPtr>& listeners) {
  struct Ground {
    std::optional<model::LoadBalancerRef> lb{};
    std::vector<ledger::Grant> grants{};
  };
  std::map<std::string_view, Ground> grounds;  // by the text on Listeners: they have few of them
  std::map<model::LoadBalancerRef, std::vector<ledger::Holding>> lost;
  for (const ListenerPtr& listener : listeners) {
    const std::string_view text = kube::get(listener->meta.annotations, kBalancerAnnotation);
    const auto [it, is_new] = grounds.try_emplace(text);
    Ground& ground = it->second;
    if (is_new && (ground.lb = model::parse_canonical(text))) {
      if (const auto object = balancers_.get({"", model::object_name(*ground.lb)}))
        ground.grants = grants_of(*object);
    }
    if (!ground.lb || stands_in(*listener, ground.grants)) continue;
    if (sealer_.judge(*listener) != Trust::ours) continue;
    std::ranges::move(holdings_of(*listener), std::back_inserter(lost[*ground.lb]));
  }
  for (const auto& [lb, own] : lost)
    if (Result<> restored = restore(context, lb, own); !restored) return restored;
  return {};
}

Result<> Grantor::restore(const Context& context, const model::LoadBalancerRef& lb,
                          const std::vector<ledger::Holding>& own) {
  const std::string name = model::object_name(lb);
  const auto object = balancers_.get({"", name});
  if (!object) return rebuild(context, lb, {});
  const std::vector<ledger::Grant> grants = grants_of(*object);
  const std::vector<ledger::Grant> next =
      ledger::with_holdings(grants, own, holdings(name, grants), context.tasks.wall_time());
  return next == grants ? Result<>{} : swap(context, *object, next);
}

Result<> Grantor::take_back(const Context& context, const model::LoadBalancerRef& lb,
                            const ledger::Grant& given, const std::vector<ledger::Grant>& before) {
  const std::string name = model::object_name(lb);
  for (int i = 0; i < kMaxTries; ++i) {
    const auto object = balancers_.get({"", name});
    if (!object) return {};
    const std::vector<ledger::Grant> grants = grants_of(*object);
    const std::vector<ledger::Grant> next =
        ledger::without_given(grants, given, before, holdings(name, grants));
    if (next == grants) return {};
    Result<> written = swap(context, *object, next);
    if (written || written.error().code == Code::not_found) return {};
    if (!kube::was_overtaken(written.error())) return written;
    if (Result<> fresh = refresh(context, name); !fresh) return fresh;
  }
  return fail(error_of(Code::conflict, "grants changed {} times in a row", kMaxTries)
                  .about(model::to_string(lb)));
}

Result<> Grantor::release(const Context& context, std::string_view owner_uid) {
  for (const auto& object : balancers_.all()) {
    std::vector<ledger::Grant> own = grants_of(*object);
    std::erase_if(own, [&](const ledger::Grant& grant) { return grant.owner.uid != owner_uid; });
    if (own.empty()) continue;
    if (Result<> released = release(context, object->meta.name, own); !released) return released;
  }
  return {};
}

Result<> Grantor::release(const Context& context, const std::string& balancer,
                          const std::vector<ledger::Grant>& grants) {
  const auto object = balancers_.get({"", balancer});
  if (!object || grants.empty()) return {};
  const std::vector<ledger::Grant> before = grants_of(*object);
  const std::vector<ledger::Grant> after = ledger::without_unused(
      before, grants, holdings(balancer, before, of_owner(grants.front().owner.uid)));
  if (after.size() == before.size()) return {};
  Result<> written = swap(context, *object, after);
  if (!written && written.error().code == Code::not_found) return {};
  // Known only from the cache, which may be behind: the caller comes again.
  return written;
}

Result<> Grantor::rebuild(const Context& context, const model::LoadBalancerRef& lb,
                          const Batch& wanted) {
  if (Result<> listed = list_listeners(context, lb); !listed) return listed;
  const std::vector<ledger::Holding> held = holdings(model::object_name(lb), {});
  std::vector<ledger::Grant> grants = ledger::rebuilt(held, context.tasks.wall_time());
  for (const Waiting* const one : wanted) {
    // Where it cannot be had, the next try says why.
    if (Result<std::vector<ledger::Grant>> more = with_one(grants, one->wanted, held))
      grants = std::move(*more);
  }
  return create(context, lb, grants);
}

Result<> Grantor::list_listeners(const Context& context, const model::LoadBalancerRef& lb) {
  return listener_objects_.list(context, {.label_selector = api::load_balancer_selector(lb)});
}

Result<> Grantor::create(const Context& context, const model::LoadBalancerRef& lb,
                         const std::vector<ledger::Grant>& grants) {
  const kube::ResourceType& type = api::load_balancer_kind().type;
  api::LoadBalancerSpec spec{.provider = std::string(model::to_string(lb.provider)),
                             .account = lb.account,
                             .region = lb.region,
                             .load_balancer_id = model::id_text(lb)};
  for (const ledger::Grant& grant : grants) spec.grants.push_back(to_api(grant));
  auto made =
      objects_.create(context, Object{{"apiVersion", type.api_version()},
                                      {"kind", type.kind},
                                      {"metadata", Object{{"name", model::object_name(lb)}}},
                                      {"spec", api::encode(spec)}});
  if (!made) return pass(made);
  return {};
}

Result<> Grantor::swap(const Context& context, const api::LoadBalancer& object,
                       const std::vector<ledger::Grant>& grants) {
  // The version, not the list: people write the same list in other words (`grants: []`).
  const Array patch{Object{{"op", "test"}, {"path", "/metadata/uid"}, {"value", object.meta.uid}},
                    Object{{"op", "test"},
                           {"path", "/metadata/resourceVersion"},
                           {"value", std::to_string(object.meta.resource_version)}},
                    Object{{"op", "add"}, {"path", "/spec/grants"}, {"value", encode(grants)}}};
  auto written = objects_.patch(context, object.meta.key(), kube::PatchType::json, patch);
  if (!written) return pass(written);
  return {};
}

Result<> Grantor::refresh(const Context& context, const std::string& name) {
  const auto found = objects_.get(context, {"", name});
  if (found) return {};
  if (found.error().code != Code::not_found) return fail(found.error());
  // Gone, and our cache does not know it yet.
  return fail(error_of(Code::unavailable, "is being removed").about("LoadBalancer " + name));
}

}  // namespace berth::claims
