#include "claims/claimer.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/decode.h"
#include "api/walkers.h"
#include "base/log.h"

namespace berth::claims {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// Undoing a claim must go on after the admission's deadline: the answer has been given up by then.
constexpr Duration kUndoTimeout = std::chrono::seconds{5};

// Re-invocations of a webhook follow within one request, which the API server ends after 30 s at
// the latest.
constexpr Duration kReinvocationWindow = std::chrono::seconds{30};

std::string annotation_pointer(std::string_view key) {
  return "/metadata/annotations/" + wire::escape_pointer_step(key);
}

Object test(std::string path, Value value) {
  return {{"op", "test"}, {"path", std::move(path)}, {"value", std::move(value)}};
}
Object replace(std::string path, Value value) {
  return {{"op", "replace"}, {"path", std::move(path)}, {"value", std::move(value)}};
}

// A test for an absent member does not exist in JSON Patch, but `test` against null fails where it
// is present: kube-apiserver takes a missing value for null.
Object test_not_deleting() { return test("/metadata/deletionTimestamp", nullptr); }

Array claim_patch(std::string_view expected, std::string_view claim) {
  const std::string path = annotation_pointer(ledger::kClaimAnnotation);
  return {test_not_deleting(), test(path, Value(expected)), replace(path, Value(claim))};
}

Slot slot_of(const api::Listener& listener, std::string claim) {
  return {.listener = listener.meta.key(),
          .item = std::string(kube::get(listener.meta.annotations, kItemAnnotation)),
          .load_balancer_id = listener.spec.load_balancer_id,
          .port = static_cast<model::Port>(listener.spec.port),
          .claim = std::move(claim)};
}

bool is_free(const api::Listener& listener) {
  return belongs_to_pool(listener) && !listener.meta.deleting && claim_text(listener).empty() &&
         kube::has(listener.meta.annotations, ledger::kClaimAnnotation) && is_applied(listener);
}

bool is_for(const api::Listener& listener, model::Protocol protocol) {
  const auto its = model::parse_protocol(listener.spec.protocol);
  return its && *its == protocol;
}

// `lost` slots were free when the others were looked at.
Error exhausted(const SlotRequest& request, const std::vector<ListenerStore::Ptr>& slots,
                std::size_t lost) {
  constexpr std::size_t kNamedHolders = 3;
  std::size_t all = 0;
  std::size_t used = 0;
  std::string holders;
  for (const auto& slot : slots) {
    if (!is_for(*slot, request.protocol)) continue;
    ++all;
    const auto claim = ledger::decode_claim(claim_text(*slot));
    if (!claim || !*claim) continue;
    if (used++ < kNamedHolders && !(*claim)->pod_name.empty()) {
      holders += (holders.empty() ? ", by " : ", ") + (*claim)->ns + "/" + (*claim)->pod_name;
    }
  }
  return error_of(Code::exhausted, "no free {} port: {} of {} in use{}",
                  model::to_string(request.protocol), used + lost, all, holders)
      .about("PortPool " + request.pool.to_string())
      .with_hint(all == 0 ? "the pool does not exist or has no ports yet"
                          : "raise endPort or add an item");
}

}  // namespace

void add_indexes(ListenerStore& store) {
  store.add_index(std::string(kFreeSlotIndex),
                  [](const api::Listener& listener, kube::EmitKey emit) {
                    const auto protocol = model::parse_protocol(listener.spec.protocol);
                    if (protocol && is_free(listener))
                      emit(free_slot_key(pool_of(listener), *protocol));
                  });
  store.add_index(std::string(kPoolIndex), [](const api::Listener& listener, kube::EmitKey emit) {
    if (belongs_to_pool(listener)) emit(pool_of(listener).to_string());
  });
  store.add_index(std::string(kTokenIndex), [](const api::Listener& listener, kube::EmitKey emit) {
    const auto claim = ledger::decode_claim(claim_text(listener));
    if (claim && *claim) emit((*claim)->token);
  });
  store.add_index(std::string(kPodIndex), [](const api::Listener& listener, kube::EmitKey emit) {
    const auto claim = ledger::decode_claim(claim_text(listener));
    if (claim && *claim && !(*claim)->pod_name.empty()) {
      emit(kube::ObjectKey{(*claim)->ns, (*claim)->pod_name}.to_string());
    }
  });
}

Claimer::Claimer(kube::Client& client, ListenerStore& store, Random random)
    : client_(client), store_(store), random_(random) {}

Result<std::vector<Slot>> Claimer::claim_all(const Context& context,
                                             const std::vector<SlotRequest>& requests,
                                             const ledger::Claim& claim) {
  std::vector<Slot> taken;
  for (const SlotRequest& request : requests) {
    Result<Slot> slot = claim_one(context, request, claim);
    if (slot) {
      taken.push_back(std::move(*slot));
      continue;
    }
    const Context undo =
        Context{.tasks = context.tasks, .fields = context.fields}.within(kUndoTimeout);
    for (const Slot& earlier : taken) {
      const auto undone = client_.patch(undo, api::listener_kind().type, earlier.listener,
                                        kube::PatchType::json, claim_patch(earlier.claim, ""));
      // Left behind, it is freed when its lifetime is over.
      if (!undone) log_warn("claim not undone", {{"object", earlier.listener.to_string()}});
      if (undone) remember(*undone);
    }
    return pass(slot);
  }
  return taken;
}

Result<Slot> Claimer::peek(const SlotRequest& request) {
  const auto free = store_.by_index(kFreeSlotIndex, free_slot_key(request.pool, request.protocol));
  if (free.empty()) {
    return fail(
        exhausted(request, store_.by_index(kPoolIndex, request.pool.to_string()), free.size()));
  }
  return slot_of(*free.front(), "");
}

bool Claimer::is_recent_claim(std::string_view token, std::string_view ns, WallTime now) const {
  for (const auto& listener : store_.by_index(kTokenIndex, token)) {
    const auto claim = ledger::decode_claim(claim_text(*listener));
    if (!claim || !*claim) continue;
    const bool unbound = (*claim)->state() == ledger::SlotState::claimed;
    if (unbound && (*claim)->ns == ns && now - (*claim)->since < kReinvocationWindow) return true;
  }
  return false;
}

Result<Slot> Claimer::claim_one(const Context& context, const SlotRequest& request,
                                const ledger::Claim& claim) {
  const std::string text = ledger::encode(claim);
  auto cached = store_.by_index(kFreeSlotIndex, free_slot_key(request.pool, request.protocol));
  Result<Slot> slot = try_each(context, std::move(cached), text);
  if (slot || slot.error().code != Code::exhausted) return slot;

  const Result<std::vector<ListenerStore::Ptr>> live = list_slots(context, request);
  if (!live) return fail(live.error());
  std::vector<ListenerStore::Ptr> free;
  std::ranges::copy_if(*live, std::back_inserter(free), [&](const ListenerStore::Ptr& one) {
    return is_free(*one) && is_for(*one, request.protocol);
  });
  const std::size_t lost = free.size();  // if none can be had, others were faster with these
  slot = try_each(context, std::move(free), text);
  if (!slot && slot.error().code == Code::exhausted) return fail(exhausted(request, *live, lost));
  return slot;
}

Result<Slot> Claimer::try_each(const Context& context, std::vector<ListenerStore::Ptr> free,
                               const std::string& claim) {
  std::ranges::sort(free, {}, [](const auto& listener) { return listener->spec.port; });
  const std::size_t offset = start_offset(free.size());
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (context.expired()) return fail(context.end_error());
    const api::Listener& listener = *free[(offset + i) % free.size()];
    const Result<Value> written =
        client_.patch(context, api::listener_kind().type, listener.meta.key(),
                      kube::PatchType::json, claim_patch("", claim));
    if (written) {
      remember(*written);
      return slot_of(listener, claim);
    }
    const Code code = written.error().code;
    if (code != Code::precondition && code != Code::not_found) return fail(written.error());
  }
  return fail(Code::exhausted, "no free slot");
}

Result<std::vector<ListenerStore::Ptr>> Claimer::list_slots(const Context& context,
                                                            const SlotRequest& request) {
  kube::ListOptions options{
      .ns = request.pool.ns,
      .label_selector = fmt::format("{}={},{}={}", kOwnerKindLabel, kPoolOwner, kOwnerNameLabel,
                                    request.pool.name)};
  Result<kube::ListPage> page =
      client_.list_all(context, api::listener_kind().type, std::move(options));
  if (!page) return pass(page);
  std::vector<ListenerStore::Ptr> slots;
  for (const Value& item : page->items) {
    Result<api::Listener> listener = api::decode_listener(item);
    if (listener) slots.push_back(std::make_shared<const api::Listener>(std::move(*listener)));
  }
  return slots;
}

Result<> Claimer::swap(const Context& context, const api::Listener& listener,
                       std::string_view claim, const api::ListenerSpec& spec) {
  const std::string claim_path = annotation_pointer(ledger::kClaimAnnotation);
  const Object before = api::encode(listener.spec);
  const Object after = api::encode(spec);
  // Not tested: that it is not being deleted. It may still be freed then.
  Array patch{test(claim_path, Value(claim_text(listener))), test("/spec", before),
              replace(claim_path, Value(claim)), replace("/spec", after)};
  if (before != after) {
    patch.push_back(
        Object{{"op", "add"}, {"path", annotation_pointer(kAppliedAnnotation)}, {"value", ""}});
  }
  Result<Value> written = client_.patch(context, api::listener_kind().type, listener.meta.key(),
                                        kube::PatchType::json, patch);
  if (!written) return pass(written);
  remember(*written);
  return {};
}

void Claimer::remember(const Value& listener) {
  Result<api::Listener> decoded = api::decode_listener(listener);
  if (decoded) store_.put(std::move(*decoded));
}

// Replicas that all begin with the lowest slot collide on nearly every claim.
std::size_t Claimer::start_offset(std::size_t count) {
  if (count == 0) return 0;
  const MutexLock lock(mu_);
  return random_.below(count);
}

}  // namespace berth::claims
