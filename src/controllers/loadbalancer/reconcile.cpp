#include "controllers/loadbalancer/reconcile.h"

#include <boost/json.hpp>

#include "api/walkers.h"
#include "claims/grantor.h"
#include "controllers/loadbalancer/plan.h"

namespace berth::controllers::loadbalancer {
namespace {

using kube::Requeue;
using wire::Object;

// People see a changed quota or address after this at the latest.
constexpr Duration kDescribeInterval = std::chrono::minutes{5};
// While the provider does not answer.
constexpr Duration kTryAgain = std::chrono::seconds{15};
// A storm of new Listeners is one write.
constexpr Duration kGather = std::chrono::seconds{2};
// Load balancers are independent.
constexpr int kWorkers = 4;

BalancerKey key_of(const model::LoadBalancerRef& lb) {
  return BalancerKey({"", model::object_name(lb)});
}

// All of them at one time, so that one call is enough: a load balancer that came meanwhile joins
// the others at their next look, or at the one after it.
Duration until_next_look(Instant now) {
  const Duration since_last = now.time_since_epoch() % kDescribeInterval;
  const Duration left = kDescribeInterval - since_last;
  return left < kDescribeInterval / 2 ? left + kDescribeInterval / 2 : left;
}

}  // namespace

LoadBalancerController::LoadBalancerController(
    Tasks& tasks, kube::Client& client, claims::BalancerStore& balancers,
    claims::BlockStore& blocks, claims::ListenerStore& listeners, claims::Grantor& grantor,
    const model::LoadBalancerDefaults& defaults, const lb::Drivers& drivers, engine::Engine& engine,
    CredentialOf credential_of, metrics::Registry* registry)
    : balancers_(balancers),
      objects_(api::load_balancers(client, balancers)),
      listeners_(listeners),
      grantor_(grantor),
      engine_(engine),
      credential_of_(std::move(credential_of)),
      describer_(tasks, drivers,
                 [this](const model::LoadBalancerRef& lb) { controller_.add(key_of(lb)); }),
      controller_(tasks, {.name = "loadbalancer", .workers = kWorkers, .registry = registry},
                  [this](const Context& c, const BalancerKey& k) { return reconcile(c, k); }) {
  controller_.watch(balancers_, [](const auto& change, const auto& emit) {
    const bool same_wish = change.before && change.after &&
                           change.before->meta.generation == change.after->meta.generation;
    if (!same_wish) emit(BalancerKey::of(change.object()));
  });
  // A block that nobody uses any more, that is lost, or that nobody names.
  controller_.watch(
      blocks,
      [](const auto& change, const auto& emit) {
        const bool is_in_use = change.before && change.after && !claims::is_closed(*change.after) &&
                               !change.after->spec.grants.empty();
        if (!is_in_use) emit(BalancerKey({"", change.object().spec.load_balancer}));
      },
      kGather);
  // How many listeners it has is part of what it says.
  controller_.watch(
      listeners,
      [defaults](const auto& change, const auto& emit) {
        if (change.initial || (change.before && change.after)) return;
        if (const auto lb = claims::load_balancer_of(change.object(), defaults)) emit(key_of(*lb));
      },
      kGather);
}

Result<Requeue> LoadBalancerController::reconcile(const Context& context, const BalancerKey& key) {
  const Result<bool> tidied = grantor_.tidy(context, key.object.name);
  // Whatever holds that up: people and pools need to know what its provider says.
  Result<Requeue> done = describe(context, key);
  if (!done) return done;
  if (!tidied) return fail(tidied.error());
  return *tidied ? done : Requeue{.after = kGather};
}

Result<Requeue> LoadBalancerController::describe(const Context& context, const BalancerKey& key) {
  const auto object = balancers_.get(key.object);
  if (!object || object->meta.deleting) return Requeue{};
  const Result<model::LoadBalancerRef> ref = claims::ref_of(*object);
  if (!ref) return fail(ref.error());
  const std::size_t listeners = listeners_.by_index(claims::kBalancerIndex, key.object.name).size();
  if (object->spec.grants.empty() && listeners == 0) {
    // The last look at it: what was left there, nobody would find any more.
    engine_.audit(*ref);
    if (Result<> removed = remove_unused(context, *object); !removed) return pass(removed);
    return Requeue{};
  }
  bool first = false;
  {
    const MutexLock lock(mu_);
    first = audited_.insert(key.object.name).second;
  }
  // Whatever its description says: somebody may have credentials for it that we have not.
  if (first) engine_.attend(*ref);
  const auto answer = describer_.take(*ref, credentials_for(*ref));
  if (!answer) return Requeue{};  // it brings us back
  if (*answer && was_missing(*object)) engine_.audit(*ref);
  if (Result<> written =
          write_status(context, *object, *answer, engine_.last_look(*ref), listeners);
      !written)
    return pass(written);
  if (!*answer) return Requeue{.after = kTryAgain};
  return Requeue{.after = until_next_look(context.tasks.now())};
}

void LoadBalancerController::look_changed(const model::LoadBalancerRef& lb) {
  const BalancerKey key = key_of(lb);
  const auto object = balancers_.get(key.object);
  if (object && !is_told(*object, engine_.last_look(lb))) controller_.add(key);
}

Result<> LoadBalancerController::write_status(const Context& context,
                                              const api::LoadBalancer& object,
                                              const Result<model::LoadBalancerInfo>& answer,
                                              const Look& look, std::size_t listeners) {
  const api::LoadBalancerStatus status =
      status_of(object, answer, look, listeners, context.tasks.wall_time());
  if (status == object.status) return {};
  // A JSON Patch, because a merge would leave members that went away.
  const wire::Array patch{
      Object{{"op", "add"}, {"path", "/status"}, {"value", api::encode(status)}}};
  auto written = objects_.patch_status(context, object.meta.key(), kube::PatchType::json, patch);
  if (!written && written.error().code != Code::not_found) return pass(written);
  return {};
}

Describer::Credentials LoadBalancerController::credentials_for(
    const model::LoadBalancerRef& lb) const {
  if (!credential_of_) return {{}};
  std::set<model::CredentialId> out;
  const std::string name = model::object_name(lb);
  for (const ledger::Grant& grant : grantor_.book().on(name))
    if (!ledger::is_block(grant)) out.insert(credential_of_(lb.provider, grant.owner.ns));
  for (const auto& listener : listeners_.by_index(claims::kBalancerIndex, name))
    out.insert(credential_of_(lb.provider, listener->meta.ns.view()));
  if (out.empty()) out.emplace();
  return {out.begin(), out.end()};
}

// Nobody has a port on it. The version is the precondition: a grant may come in this moment.
Result<> LoadBalancerController::remove_unused(const Context& context,
                                               const api::LoadBalancer& object) {
  const Result<> removed = objects_.remove(
      context, object.meta.key(),
      {.uid = object.meta.uid, .resource_version = std::to_string(object.meta.resource_version)});
  return !removed && kube::was_overtaken(removed.error()) ? Result<>{} : removed;
}

}  // namespace berth::controllers::loadbalancer
