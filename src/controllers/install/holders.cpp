#include "controllers/install/holders.h"

#include <algorithm>
#include <set>

#include "api/pod_ports.h"
#include "api/port_binding.h"
#include "claims/slot.h"

namespace berth::controllers::install {
namespace {

using kube::ObjectKey;
using ledger::SlotState;
using wire::Value;

// What ties Pods to ports.
struct Ties {
  std::set<std::string> uids{};    // of Pods that ports are bound to
  std::set<std::string> tokens{};  // of claims whose Pod was not seen yet
  std::set<ObjectKey> told{};      // Listeners that belong to whoever was told of them
};

Ties ties_of(const std::vector<api::Listener>& listeners) {
  Ties out;
  for (const api::Listener& listener : listeners) {
    if (claims::is_foreign(listener) && claims::has_targets(listener.spec))
      out.told.insert(listener.meta.key());
    if (claims::is_unreadable(listener)) out.told.insert(listener.meta.key());
    const auto claim = claims::claim_of(listener);
    if (!claim) continue;
    if (!claim->pod_uid.empty()) out.uids.insert(claim->pod_uid);
    if (claim->state != SlotState::claimed) continue;
    out.tokens.insert(claim->token);
    out.told.insert(listener.meta.key());
  }
  return out;
}

bool was_told_of(std::string_view annotation, const std::set<ObjectKey>& listeners) {
  const Result<std::vector<api::PortBindingItem>> told = api::decode_pool_bindings(annotation);
  if (!told) return false;
  return std::ranges::any_of(*told, [&](const api::PortBindingItem& entry) {
    const std::optional<ObjectKey> lock = api::lock_of(entry);
    return lock && listeners.contains(*lock);
  });
}

bool holds(const Value& pod, const Ties& ties) {
  const std::string_view phase = wire::string_at(pod, "/status/phase");
  if (phase == "Succeeded" || phase == "Failed") return false;
  if (ties.uids.contains(std::string(wire::string_at(pod, "/metadata/uid")))) return true;
  const std::string label = "/metadata/labels/" + wire::escape_pointer_step(ledger::kTokenLabel);
  if (ties.tokens.contains(std::string(wire::string_at(pod, label)))) return true;
  const std::string told =
      "/metadata/annotations/" + wire::escape_pointer_step(api::kPoolBindingsAnnotation);
  return was_told_of(wire::string_at(pod, told), ties.told);
}

}  // namespace

std::vector<std::string> port_holders(const std::vector<api::Listener>& listeners,
                                      const std::vector<Value>& pods) {
  const Ties ties = ties_of(listeners);
  std::vector<std::string> out;
  for (const Value& pod : pods) {
    if (!holds(pod, ties)) continue;
    out.push_back(fmt::format("{}/{}", wire::string_at(pod, "/metadata/namespace"),
                              wire::string_at(pod, "/metadata/name")));
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace berth::controllers::install
