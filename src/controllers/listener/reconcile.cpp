#include "controllers/listener/reconcile.h"

#include <boost/json.hpp>

#include "api/decode.h"
#include "claims/finalizer.h"
#include "controllers/listener/events.h"

namespace berth::controllers::listener {
namespace {

using kube::Requeue;

// Outcomes are written side by side; the API server's own limits (priority levels) are what bounds
// them.
constexpr int kOutcomeWriters = 8;
// Until a block of grants is rebuilt, or our cache shows it; both bring the key back, too.
constexpr Duration kCatchUp = std::chrono::seconds{1};

engine::WishKey wish_key(const ListenerKey& key) { return engine::WishKey(key.object.to_string()); }

ListenerKey key_of(const engine::WishKey& key) {
  const std::size_t slash = key.value.find('/');
  return ListenerKey({key.value.substr(0, slash), key.value.substr(slash + 1)});
}

bool is_in_place(const api::Listener& listener) {
  return !listener.meta.deleting && claims::is_applied(listener);
}

}  // namespace

ListenerController::ListenerController(Tasks& tasks, kube::Client& client,
                                       claims::ListenerStore& listeners,
                                       claims::BalancerStore& balancers, claims::BlockStore& blocks,
                                       const claims::Sealer& sealer, claims::Courtesy& courtesy,
                                       kube::EventRecorder& events, ListenerOptions options,
                                       metrics::Registry* registry)
    : client_(client),
      listeners_(listeners),
      balancers_(balancers),
      blocks_(blocks),
      book_(balancers, blocks),
      sealer_(sealer),
      courtesy_(courtesy),
      events_(events),
      options_(std::move(options)),
      wishes_(tasks, {.name = "listener", .registry = registry},
              [this](const Context& c, const ListenerKey& k) { return reconcile_wish(c, k); }),
      notes_(tasks, {.name = "listener-status", .workers = kOutcomeWriters, .registry = registry},
             [this](const Context& c, const ListenerKey& k) { return reconcile_outcome(c, k); }) {
  watch();
  watch_grants();
}

void ListenerController::watch() {
  wishes_.watch(listeners_, [this](const auto& change, const auto& emit) {
    // Another controller looks after it, and its status and finalizer are for that one to write.
    if (claims::is_foreign(change.object())) return;
    if (is_trusted_again(change)) note_doubtful(ListenerKey::of(change.object()));
    // Nothing to wish for one that is as it should be: most of them, after a restart.
    if (!change.after || !is_at_rest(*change.after)) emit(ListenerKey::of(change.object()));
  });
  notes_.at_start([this] { queue_outcomes(); });
  // Also while nobody works on keys: a wish of one that is gone must not be acted on when the lead
  // is back.
  listeners_.on_change([this](const kube::Change<api::Listener>& change) {
    if (change.after) {
      if (engine_) audit_newcomer(change);
      if (engine_) expect_claimed(change);
      return;
    }
    (void)take_doubtful(ListenerKey::of(change.object()));
    if (engine_) engine_->forget(wish_key(ListenerKey::of(change.object())));
  });
}

// A grant that came or went decides whether its Listeners are acted on. Those of the first list are
// known before any Listener is looked at.
void ListenerController::watch_grants() {
  wishes_.watch(balancers_, [this](const auto& change, const auto& emit) {
    if (change.initial) return;
    emit_about(changed_grants(change.before.get(), change.after.get()), change.object().meta.name,
               emit);
  });
  wishes_.watch(blocks_, [this](const auto& change, const auto& emit) {
    if (change.initial) return;
    emit_about(changed_grants(change.before.get(), change.after.get()),
               change.object().spec.load_balancer, emit);
  });
}

template <class Emit>
void ListenerController::emit_about(const std::vector<api::Grant>& grants,
                                    const std::string& balancer, const Emit& emit) const {
  if (grants.empty()) return;
  for (const auto& one : listeners_.by_index(claims::kBalancerIndex, balancer))
    if (is_about(grants, *one) && !is_at_rest(*one)) emit(ListenerKey::of(*one));
}

// The audit leaves out what is not trusted, also after a restart of the load balancer, when nothing
// is there of it; and what is in place is not looked at until the next one.
bool ListenerController::is_trusted_again(const kube::Change<api::Listener>& change) const {
  if (!change.before || !change.after) return false;
  const auto seal_of = [](const api::Listener& listener) {
    return kube::get(listener.meta.annotations, claims::kSealAnnotation);
  };
  return seal_of(*change.before) != seal_of(*change.after) &&
         sealer_.judge(*change.before) == claims::Trust::forged &&
         sealer_.judge(*change.after) != claims::Trust::forged;
}

void ListenerController::note_doubtful(const ListenerKey& key) {
  const MutexLock lock(mu_);
  doubtful_.insert(key);
}

bool ListenerController::take_doubtful(const ListenerKey& key) {
  const MutexLock lock(mu_);
  return doubtful_.erase(key) > 0;
}

bool ListenerController::is_at_rest(const api::Listener& listener) const {
  if (!is_in_place(listener)) return false;
  const MutexLock lock(mu_);
  return !doubtful_.contains(ListenerKey::of(listener));
}

// Of a new one nobody but us can know that it is in place, and we do not: somebody put it back as
// it was, with what we wrote on the former one. An audit leaves out what has no grant: then its
// grant brings it back, which may come while we look.
void ListenerController::audit_newcomer(const kube::Change<api::Listener>& change) {
  const bool is_new = !change.before || change.before->meta.uid != change.after->meta.uid;
  if (change.initial || !is_new || !is_in_place(*change.after)) return;
  if (claims::is_foreign(*change.after)) return;
  const ListenerKey key = ListenerKey::of(*change.after);
  note_doubtful(key);
  const auto wish = granted_wish(*change.after);
  if (!wish) return;
  (void)take_doubtful(key);
  engine_->audit(wish->lb);
}

// A Pod was just promised it: as soon as that has an address, the Listener leads there.
void ListenerController::expect_claimed(const kube::Change<api::Listener>& change) {
  if (change.initial || !change.before) return;
  const std::string_view claim = claims::claim_text(*change.after);
  if (claim.empty() || claim == claims::claim_text(*change.before)) return;
  const auto parsed = claims::claim_of(*change.after);
  if (parsed && parsed->state == ledger::SlotState::claimed)
    expect(*change.after, engine::Notice::likely);
}

void ListenerController::expect(const api::Listener& listener, engine::Notice notice) {
  const auto lb = claims::load_balancer_of(listener, options_.naming.defaults);
  if (!lb || !engine_) return;
  engine_->expect(wish_key(ListenerKey::of(listener)),
                  {*lb, options_.credential_of(lb->provider, listener.meta.ns.view())}, notice);
}

// Outcomes that came while nobody wrote them down.
void ListenerController::queue_outcomes() {
  std::vector<ListenerKey> keys;
  {
    const MutexLock lock(mu_);
    for (const auto& [key, noted] : outcomes_) keys.push_back(key);
  }
  for (const ListenerKey& key : keys) notes_.add(key);
}

void ListenerController::add_to(kube::Manager& manager) {
  manager.add(wishes_.core());
  manager.add(notes_.core());
}

Result<Requeue> ListenerController::reconcile_wish(const Context& /*context*/,
                                                   const ListenerKey& key) {
  const auto listener = listeners_.get(key.object);
  const bool doubtful = take_doubtful(key);
  if (!listener || (listener->meta.deleting && !claims::has_our_finalizer(listener->meta))) {
    engine_->forget(wish_key(key));
    return Requeue{};
  }
  if (is_in_place(*listener) && !doubtful) return Requeue{};
  Result<engine::Wish> wish = granted_wish(*listener);
  if (Result<> led = options_.check_targets(*listener); wish && wish->spec && !led)
    wish = pass(led);
  if (wish) {
    engine_->want(wish_key(key), std::move(*wish));
    return Requeue{};
  }
  if (doubtful) note_doubtful(key);
  // Whose its ports are is not known for a moment, and they may lead somewhere.
  if (wish.error().code == Code::unavailable) return Requeue{.after = kCatchUp};
  // What cannot be read, or is nobody's to give, has nothing at the load balancer that is its own:
  // it may go, and it is shown why it does nothing.
  engine_->forget(wish_key(key));
  report({.key = wish_key(key),
          .version = version_of(*listener),
          .result = listener->meta.deleting ? Result<>{} : Result<>(fail(wish.error()))});
  return Requeue{};
}

Result<engine::Wish> ListenerController::granted_wish(const api::Listener& listener) const {
  Result<engine::Wish> wish = wish_of(listener, options_.naming);
  if (!wish) return wish;
  const std::vector<ledger::Grant> grants = book_.on(model::object_name(wish->lb), wish->ports);
  // What lies in a block that is lost, or that our cache does not show yet, somebody has.
  const auto ways = model::transports_of(wish->protocol);
  if (std::ranges::any_of(grants, [&](const ledger::Grant& grant) {
        return ledger::is_block(grant) && std::ranges::find(ways, grant.transport) != ways.end();
      }))
    return fail(error_of(Code::unavailable, "grants of its ports are being read"));
  const claims::Trust trust = sealer_.judge(listener);
  Result<model::PortRange> own = granted_ports(listener, *wish, grants);
  // Somebody took the grant away, and its pool is gone or has not restored it yet: the seal says
  // whose the ports were. What one that goes has at the load balancer must go before it.
  if (!own && listener.meta.deleting && trust == claims::Trust::ours && !is_anybodys(*wish, grants))
    own = wish->ports;
  if (!own) return fail(own.error());
  // One of the version before us has its seal in a moment; until then its grant must do, and the
  // name of its port: there is one Listener for each.
  const bool is_former =
      sealer_.may_seal_again(listener) && claims::has_name_of_its_port(listener, wish->lb);
  if (trust != claims::Trust::ours && !is_former) return fail(not_sealed(listener, trust));
  wish->own = *own;
  wish->credential = options_.credential_of(wish->lb.provider, listener.meta.ns.view());
  return wish;
}

void ListenerController::report(const engine::Outcome& outcome) {
  const ListenerKey key = key_of(outcome.key);
  {
    const MutexLock lock(mu_);
    outcomes_.insert_or_assign(key, Noted{outcome, ++reports_});
  }
  notes_.add(key);
}

Result<Requeue> ListenerController::reconcile_outcome(const Context& context,
                                                      const ListenerKey& key) {
  Noted noted;
  {
    const MutexLock lock(mu_);
    const auto it = outcomes_.find(key);
    if (it == outcomes_.end()) return Requeue{};
    noted = it->second;
  }
  const auto listener = listeners_.get(key.object);
  if (listener && version_of(*listener) == noted.outcome.version) {
    if (Result<> written = note(context, *listener, noted.outcome); !written) return pass(written);
  }
  const MutexLock lock(mu_);
  const auto it = outcomes_.find(key);
  if (it != outcomes_.end() && it->second.number == noted.number) outcomes_.erase(it);
  return Requeue{};
}

Result<> ListenerController::note(const Context& context, const api::Listener& listener,
                                  const engine::Outcome& outcome) {
  if (listener.meta.deleting && outcome.result) {
    courtesy_.give_way(context);
    return write(context, listener, {.changes = claims::finalizer_patch(listener.meta, false)});
  }
  if (!outcome.result && outcome.result.error().code != Code::stopped)
    events_.record(not_synced(listener, outcome.result.error()));
  const claims::ListenerPatch patch = outcome_patch(listener, outcome);
  if (patch.empty()) return {};
  // Nobody waits for a Listener that leads nowhere.
  if (!claims::has_targets(listener.spec)) courtesy_.give_way(context);
  return write(context, listener, patch);
}

Result<> ListenerController::write(const Context& context, const api::Listener& listener,
                                   const claims::ListenerPatch& patch) {
  Result<> written = claims::write_listener(context, client_, listeners_, listener, patch);
  if (written) return written;
  // A new spec, or another claim, brings the key back through the cache. A conflict says nothing of
  // either: the same is tried again.
  const Error& error = written.error();
  return kube::was_overtaken(error) && error.code != Code::conflict ? Result<>{} : written;
}

std::vector<engine::StandingWish> ListenerController::wishes_for(
    const model::LoadBalancerRef& lb) const {
  std::vector<engine::StandingWish> out;
  const auto named = [&](const api::Listener& listener) {
    engine::Wish wish = name_only(listener, lb, options_.naming);
    wish.credential = options_.credential_of(lb.provider, listener.meta.ns.view());
    return wish;
  };
  for (const auto& listener : listeners_.by_index(claims::kBalancerIndex, model::object_name(lb))) {
    if (listener->meta.deleting && !claims::has_our_finalizer(listener->meta)) continue;
    Result<engine::Wish> wish = granted_wish(*listener);
    const bool applied = wish && is_in_place(*listener);
    // One that may not be acted on wishes for nothing. What has its name stays where it is: it may
    // be in use, and the grant may come back.
    out.push_back({.key = wish_key(ListenerKey::of(*listener)),
                   .wish = wish ? std::move(*wish) : named(*listener),
                   .applied = applied});
  }
  for (const auto& listener : listeners_.by_index(claims::kBalancerIndex, claims::kNoBalancer))
    out.push_back({.key = wish_key(ListenerKey::of(*listener)), .wish = named(*listener)});
  return out;
}

}  // namespace berth::controllers::listener
