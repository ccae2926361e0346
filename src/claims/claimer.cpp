#include "claims/claimer.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/keys.h"
#include "api/walkers.h"
#include "base/log.h"
#include "claims/claim_patch.h"
#include "claims/exhausted.h"

namespace berth::claims {
namespace {

// Undoing a claim must go on after the admission's deadline: the answer has been given up by then.
constexpr Duration kUndoTimeout = std::chrono::seconds{5};

// Every try that fails was lost to somebody who got the slot: so many at one moment are more than
// any server answers.
constexpr int kMaxTries = 64;

constexpr Duration kPollInterval = std::chrono::milliseconds{10};

}  // namespace

Claimer::Claimer(kube::Client& client, ListenerStore& store, SlotIndex& index,
                 const Sightings& sightings, Random random, Options options)
    : client_(client),
      store_(store),
      listeners_(api::listeners(client, store)),
      index_(index),
      sightings_(sightings),
      unbound_(store),
      options_(std::move(options)),
      random_(random) {}

Result<std::vector<TakenSlot>> Claimer::claim_all(const Context& context,
                                                  const std::vector<SlotRequest>& requests,
                                                  const ledger::Claim& claim) {
  Result<std::vector<TakenSlot>> reused = reuse_oldest(context, requests, claim);
  if (!reused || !reused->empty()) return reused;

  std::vector<TakenSlot> taken;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ledger::Claim own = claim;
    own.entry = static_cast<int>(i);
    own.pod_port = requests[i].pod_port;
    Result<TakenSlot> slot = claim_one(context, requests[i], own);
    if (!slot) {
      give_back(context, taken);
      return pass(slot);
    }
    taken.push_back(std::move(*slot));
  }
  return taken;
}

bool Claimer::give_back(const Context& context, const std::vector<TakenSlot>& taken) {
  bool all = true;
  const Context undo =
      Context{.tasks = context.tasks, .fields = context.fields}.within(kUndoTimeout);
  for (const TakenSlot& slot : taken) {
    for (const TakenLock& lock : slot.locks) {
      const Result<ListenerPtr> undone =
          listeners_.patch(undo, lock.listener, kube::PatchType::json,
                           claim_patch(lock.uid, lock.after, lock.before));
      // Somebody else has changed it, or it is gone. A conflict says neither.
      if (undone || undone.error().code == Code::precondition ||
          undone.error().code == Code::not_found)
        continue;
      all = false;
      // Left behind, it is freed when its lifetime is over.
      log_warn("claim not undone",
               {{"object", lock.listener.to_string()}, {"error", undone.error().to_string()}});
    }
  }
  return all;
}

Result<TakenSlot> Claimer::peek(const SlotRequest& request, std::string_view asker_ns) {
  const auto choice = index_.choose(request, 0);
  if (!choice) return fail(exhausted(request, store_, {.ns = asker_ns}));
  TakenSlot slot{.item = choice->item, .ports = choice->ports};
  for (const kube::ObjectKey& lock : choice->locks) slot.locks.push_back({.listener = lock});
  return slot;
}

Result<TakenSlot> Claimer::claim_one(const Context& context, const SlotRequest& request,
                                     const ledger::Claim& claim) {
  const std::string text = ledger::encode(claim);
  const Instant asked = context.tasks.now();
  bool asked_server = false;
  for (int i = 0; i < kMaxTries; ++i) {
    if (context.expired()) return fail(context.end_error());
    const auto choice = index_.reserve(request, i == 0 ? start_offset() : random_offset());
    if (!choice && asked_server)
      return fail(exhausted(request, store_, {.ns = claim.ns, .token = claim.token}));
    if (!choice) {
      if (Result<> fresh = refresh_pool(context, request.pool, asked); !fresh) return pass(fresh);
      index_.settle_all(request.pool);
      asked_server = true;
      continue;
    }
    Result<std::optional<TakenSlot>> slot = try_slot(context, *choice, text);
    index_.settle(request.pool, *choice);
    if (!slot) return pass(slot);
    if (*slot) return std::move(**slot);
  }
  return fail(error_of(Code::unavailable, "{} slots in a row were taken by others", kMaxTries)
                  .about("PortPool " + request.pool.to_string())
                  .with_hint("try again"));
}

// Nothing: somebody else has it.
Result<std::optional<TakenSlot>> Claimer::try_slot(const Context& context, const SlotChoice& choice,
                                                   const std::string& claim) {
  TakenSlot slot{.item = choice.item, .ports = choice.ports};
  for (const kube::ObjectKey& lock : choice.locks) {
    const ListenerPtr known = store_.get(lock);
    const std::string uid = known ? known->meta.uid : std::string();
    const Result<ListenerPtr> written =
        listeners_.patch(context, lock, kube::PatchType::json, claim_patch(uid, "", claim));
    if (written) {
      slot.locks.push_back({.listener = lock, .uid = uid, .after = claim});
      continue;
    }
    const bool lost = kube::was_overtaken(written.error());
    // A write whose answer was lost may have taken it.
    if (!lost) slot.locks.push_back({.listener = lock, .uid = uid, .after = claim});
    const bool undone = give_back(context, {slot});
    if (!lost) return fail(written.error());
    // Its token must not come with another slot: the Pod of that would hold both.
    if (!undone)
      return fail(error_of(Code::unavailable, "a port that was taken could not be given back")
                      .about("Listener " + lock.to_string())
                      .with_hint("try again"));
    if (Result<> fresh = refresh(context, lock); !fresh) return pass(fresh);
    return std::nullopt;
  }
  return slot;
}

Result<> Claimer::refresh_pool(const Context& context, const kube::ObjectKey& pool, Instant asked) {
  for (;;) {
    const ListTurns::Turn turn = lists_.ask(pool, asked);
    if (turn == ListTurns::Turn::fresh) return {};
    if (turn == ListTurns::Turn::mine) break;
    (void)sleep_for(context.tasks, kPollInterval, context.stop);
    if (context.expired()) return fail(context.end_error());
  }
  const Instant began = context.tasks.now();
  const Result<> listed = list_pool(context, pool);
  lists_.done(pool, began, listed.has_value());
  return listed;
}

Result<> Claimer::list_pool(const Context& context, const kube::ObjectKey& pool) {
  kube::ListOptions options{
      .ns = pool.ns,
      .label_selector = fmt::format("{}={},{}={}", api::kOwnerKindKey, kPoolOwner,
                                    api::kOwnerNameKey, pool.name)};
  return listeners_.list(context, std::move(options));
}

Result<> Claimer::refresh(const Context& context, const kube::ObjectKey& listener) {
  const Result<ListenerPtr> found = listeners_.get(context, listener);
  if (!found && found.error().code != Code::not_found) return fail(found.error());
  return {};
}

Result<> Claimer::need_current(const Context& context, const api::Listener& listener) {
  const kube::ObjectKey key = listener.meta.key();
  if (Result<> fresh = refresh(context, key); !fresh) return fresh;
  const ListenerPtr now = store_.get(key);
  if (!now || now->meta.resource_version == listener.meta.resource_version) return {};
  return fail(error_of(Code::precondition, "has changed").about("Listener " + key.to_string()));
}

Result<> Claimer::change(const Context& context, const api::Listener& listener,
                         const ListenerChange& change) {
  return write_listener(context, client_, store_, listener, change_patch(listener, change));
}

std::uint32_t Claimer::start_offset() { return options_.lowest_first() ? 0 : random_offset(); }

std::uint32_t Claimer::random_offset() {
  const MutexLock lock(mu_);
  return static_cast<std::uint32_t>(random_.next());
}

}  // namespace berth::claims
