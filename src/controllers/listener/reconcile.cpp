#include "controllers/listener/reconcile.h"

#include <boost/json.hpp>

#include "api/decode.h"
#include "claims/finalizer.h"
#include "controllers/listener/events.h"

namespace berth::controllers::listener {
namespace {

using kube::ObjectKey;
using kube::Requeue;

// Outcomes are written side by side; the API server's own limits (priority levels) are what bounds
// them.
constexpr int kOutcomeWriters = 8;

ObjectKey key_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  return {text.substr(0, slash), text.substr(slash + 1)};
}

}  // namespace

ListenerController::ListenerController(Tasks& tasks, kube::Client& client,
                                       claims::ListenerStore& listeners, claims::Courtesy& courtesy,
                                       kube::EventRecorder& events, Naming naming,
                                       metrics::Registry* registry)
    : client_(client),
      listeners_(listeners),
      courtesy_(courtesy),
      events_(events),
      naming_(std::move(naming)),
      wishes_(tasks, {.name = "listener", .registry = registry},
              [this](const Context& c, const ObjectKey& k) { return reconcile_wish(c, k); }),
      notes_(tasks, {.name = "listener-status", .workers = kOutcomeWriters, .registry = registry},
             [this](const Context& c, const ObjectKey& k) { return reconcile_outcome(c, k); }) {
  wishes_.watch(listeners_, [](const auto& change, const auto& emit) {
    // Another controller looks after it, and its status and finalizer are for that one to write.
    if (claims::is_foreign(change.object())) return;
    // Nothing to wish for one that is as it should be: most of them, after a restart.
    const bool rests =
        change.after && !change.after->meta.deleting && claims::is_applied(*change.after);
    if (!rests) emit(change.object().meta.key());
  });
}

void ListenerController::add_to(kube::Manager& manager) {
  manager.add(wishes_);
  manager.add(notes_);
}

Result<Requeue> ListenerController::reconcile_wish(const Context& /*context*/,
                                                   const ObjectKey& key) {
  const auto listener = listeners_.get(key);
  if (!listener || (listener->meta.deleting && !claims::has_our_finalizer(listener->meta))) {
    engine_->forget(key.to_string());
    return Requeue{};
  }
  if (!listener->meta.deleting && claims::is_applied(*listener)) return Requeue{};
  Result<engine::Wish> wish = wish_of(*listener, naming_);
  if (wish) {
    engine_->want(key.to_string(), std::move(*wish));
    return Requeue{};
  }
  // What cannot be read was never made: it may go, and it is shown why it does nothing.
  report({.key = key.to_string(),
          .version = version_of(*listener),
          .result = listener->meta.deleting ? Result<>{} : Result<>(fail(wish.error()))});
  return Requeue{};
}

void ListenerController::report(const engine::Outcome& outcome) {
  const ObjectKey key = key_of(outcome.key);
  {
    const MutexLock lock(mu_);
    outcomes_.insert_or_assign(key, outcome);
  }
  notes_.queue().add(key);
}

Result<Requeue> ListenerController::reconcile_outcome(const Context& context,
                                                      const ObjectKey& key) {
  engine::Outcome outcome;
  {
    const MutexLock lock(mu_);
    const auto it = outcomes_.find(key);
    if (it == outcomes_.end()) return Requeue{};
    outcome = it->second;
  }
  const auto listener = listeners_.get(key);
  if (listener && version_of(*listener) == outcome.version) {
    if (Result<> noted = note(context, *listener, outcome); !noted) return pass(noted);
  }
  const MutexLock lock(mu_);
  const auto it = outcomes_.find(key);
  if (it != outcomes_.end() && it->second.version == outcome.version) outcomes_.erase(it);
  return Requeue{};
}

Result<> ListenerController::note(const Context& context, const api::Listener& listener,
                                  const engine::Outcome& outcome) {
  if (listener.meta.deleting && outcome.result)
    return write(context, listener.meta.key(), claims::finalizer_patch(listener.meta, false));
  if (!outcome.result && outcome.result.error().code != Code::stopped)
    events_.record(not_synced(listener, outcome.result.error()));
  const wire::Array patch = outcome_patch(listener, outcome);
  if (patch.empty()) return {};
  // Nobody waits for a Listener that leads nowhere.
  if (!claims::has_targets(listener.spec)) courtesy_.give_way(context);
  return write(context, listener.meta.key(), patch);
}

Result<> ListenerController::write(const Context& context, const ObjectKey& key,
                                   const wire::Array& patch) {
  Result<wire::Value> written =
      client_.patch(context, api::listener_kind().type, key, kube::PatchType::json, patch);
  if (written) {
    if (Result<api::Listener> next = api::decode_listener(*written))
      listeners_.put(std::move(*next));
    return {};
  }
  // A new spec brings the key back through the cache.
  const Code code = written.error().code;
  if (code == Code::precondition || code == Code::not_found) return {};
  return pass(written);
}

std::vector<engine::StandingWish> ListenerController::wishes_for(
    const model::LoadBalancerRef& lb) const {
  std::vector<engine::StandingWish> out;
  for (const auto& listener : listeners_.by_index(claims::kBalancerIndex, model::object_name(lb))) {
    if (listener->meta.deleting && !claims::has_our_finalizer(listener->meta)) continue;
    Result<engine::Wish> wish = wish_of(*listener, naming_);
    const bool applied = wish && !listener->meta.deleting && claims::is_applied(*listener);
    out.push_back({.key = listener->meta.key().to_string(),
                   .wish = wish ? std::move(*wish) : name_only(*listener, lb, naming_),
                   .applied = applied});
  }
  for (const auto& listener : listeners_.by_index(claims::kBalancerIndex, claims::kNoBalancer))
    out.push_back(
        {.key = listener->meta.key().to_string(), .wish = name_only(*listener, lb, naming_)});
  return out;
}

}  // namespace berth::controllers::listener
