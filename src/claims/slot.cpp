#include "claims/slot.h"

#include "api/walkers.h"
#include "crypto/digest.h"

namespace berth::claims {

bool belongs_to_pool(const api::Listener& listener) {
  return kube::get(listener.meta.labels, kOwnerKindLabel) == kPoolOwner;
}

kube::ObjectKey pool_of(const api::Listener& listener) {
  return {std::string(listener.meta.ns.view()),
          std::string(kube::get(listener.meta.labels, kOwnerNameLabel))};
}

std::string free_slot_key(const kube::ObjectKey& pool, model::Protocol protocol) {
  return fmt::format("{}/{}", pool.to_string(), model::to_string(protocol));
}

std::string_view claim_text(const api::Listener& listener) {
  return kube::get(listener.meta.annotations, ledger::kClaimAnnotation);
}

std::string spec_hash(const api::ListenerSpec& spec) {
  constexpr std::size_t kHashLength = 16;
  return crypto::sha256_hex(wire::to_json(api::encode(spec))).substr(0, kHashLength);
}

bool is_applied(const api::Listener& listener) {
  return kube::get(listener.meta.annotations, kAppliedAnnotation) == spec_hash(listener.spec);
}

}  // namespace berth::claims
