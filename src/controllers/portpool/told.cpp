#include "controllers/portpool/told.h"

#include <algorithm>
#include <tuple>

#include "api/pod_ports.h"

namespace berth::controllers::portpool {
namespace {

using crypto::KeyRing;
using crypto::SealVerdict;
using Told = std::vector<api::PortBindingItem>;

// How long the claims of a Pod may take to our cache.
constexpr Duration kClaimsArrive = std::chrono::seconds{10};

std::string_view token_of(const kube::Pod& pod) {
  return kube::get(pod.meta.labels, ledger::kTokenLabel);
}

Result<Told> written_on(const kube::Pod& pod) {
  return api::decode_pool_bindings(kube::get(pod.meta.annotations, api::kPoolBindingsAnnotation));
}

claims::PortsProof judge(const kube::Pod& pod, const Told& told, const KeyRing& ring) {
  return claims::judge_ports(ring, {token_of(pod), pod.meta.ns.view(), told},
                             kube::get(pod.meta.annotations, claims::kPortsSealAnnotation));
}

// Nothing: its pool does not say how the item stands, or the slot is none.
std::optional<api::PortBindingItem> told_by(const HeldSlot& slot, const BindingView& view) {
  const kube::ObjectKey key = claims::pool_of(*slot.lock);
  const auto pool = view.pool_of ? view.pool_of(key) : nullptr;
  const auto protocol = claims::protocol_of(*slot.lock);
  if (!pool || !protocol || !is_lock_of_its_port(*slot.lock)) return std::nullopt;
  const auto item = std::ranges::find(pool->status.pool_items, claims::item_of(*slot.lock),
                                      &api::PortPoolItemStatus::item_name);
  if (item == pool->status.pool_items.end()) return std::nullopt;
  return api::told_of(key, *item, *protocol, api::ports_of(slot.lock->spec), slot.claim.pod_port);
}

// What its claims say that it was told, in the order of what it asked for.
Told told_by_claims(const BindingView& view) {
  std::vector<std::pair<int, api::PortBindingItem>> entries;
  for (const HeldSlot& slot : view.slots) {
    if (slot.claim.token != token_of(*view.pod)) continue;
    if (auto entry = told_by(slot, view)) entries.emplace_back(slot.claim.entry, std::move(*entry));
  }
  std::ranges::sort(entries, {}, [](const auto& one) {
    return std::tuple(one.first, std::string_view(one.second.protocol));
  });
  Told told;
  for (auto& [entry, item] : entries) told.push_back(std::move(item));
  return told;
}

// As it was before somebody edited it.
void recover_told(BindingView& view, const KeyRing& ring) {
  const kube::Pod& pod = *view.pod;
  const bool is_recorded =
      view.binding && kube::get(view.binding->meta.annotations, kPodUidAnnotation) == pod.meta.uid;
  if (is_recorded) {
    view.told = view.binding->spec.port_binding_list;
    return;
  }
  Told claimed = told_by_claims(view);
  claims::PortsProof proof = judge(pod, claimed, ring);
  if (proof.verdict == SealVerdict::good) {
    view.told = std::move(claimed);
    view.proof = std::move(proof);
    return;
  }
  // Its claims are on their way, or the seal was edited as well: then it may say of its own ports
  // what it likes.
  view.is_in_doubt = !token_of(pod).empty() && view.now - pod.meta.created < kClaimsArrive;
}

}  // namespace

claims::PortsProof proof_of(const kube::Pod& pod, const KeyRing& ring) {
  const Result<Told> told = written_on(pod);
  if (!told) return {};
  claims::PortsProof proof = judge(pod, *told, ring);
  // Whoever took the label off took the proof away, not the ports.
  if (token_of(pod).empty() && proof.verdict == SealVerdict::forged)
    proof.verdict = SealVerdict::absent;
  return proof;
}

void add_told(BindingView& view, const std::shared_ptr<const KeyRing>& ring) {
  if (!view.pod) return;
  const Result<Told> written = written_on(*view.pod);
  if (written) view.told = *written;
  if (!ring) return;
  view.seal = [ring, token = std::string(token_of(*view.pod)), ns = view.key.ns](
                  std::string_view request, const Told& told) {
    return claims::seal_ports(*ring, {token, ns, told}, request);
  };
  view.proof = proof_of(*view.pod, *ring);
  if (!written || view.proof.verdict == SealVerdict::forged) recover_told(view, *ring);
}

}  // namespace berth::controllers::portpool
