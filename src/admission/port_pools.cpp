#include "admission/port_pools.h"

#include <algorithm>

#include "api/decode.h"
#include "claims/exhausted.h"

namespace berth::admission {
namespace {

using kube::AdmissionAnswer;
using kube::AdmissionRequest;

// A quarantined slot is nobody's any more.
bool is_held(const api::Listener& listener) {
  const auto claim = claims::claim_of(listener);
  return claim && claim->state != ledger::SlotState::quarantined;
}

Error in_use(std::string object, std::string field, std::string what,
             const std::vector<claims::ListenerPtr>& slots) {
  return error_of(Code::conflict, "{} is in use: {} ports are held by {}", what, slots.size(),
                  claims::name_holders(slots))
      .about(std::move(object))
      .at(std::move(field))
      .with_hint("delete the workloads first; ports with a keep duration are free when it is over");
}

}  // namespace

Result<AdmissionAnswer> PortPoolGate::admit(const AdmissionRequest& request) const {
  Result<> allowed;
  if (request.operation == "DELETE") {
    allowed = check_removal(request);
  } else if (!wire::string_at(request.object, "/metadata/deletionTimestamp").empty()) {
    // It is on its way out: nothing may hold its finalizers back.
  } else if (request.operation == "UPDATE") {
    allowed = check_update(request);
  } else {
    Result<api::PortPool> pool = api::decode_incoming_port_pool(request.object);
    if (!pool) return fail(std::move(pool.error()).about(request.describe()));
    allowed = api::validate(*pool, defaults_);
  }
  if (!allowed) return pass(allowed);
  return AdmissionAnswer{};
}

Result<> PortPoolGate::check_update(const AdmissionRequest& request) const {
  Result<api::PortPool> after = api::decode_incoming_port_pool(request.object);
  if (!after) return fail(std::move(after.error()).about(request.describe()));
  Result<api::PortPool> before = api::decode_incoming_port_pool(request.old_object);
  if (!before) return fail(std::move(before.error()).about(request.describe()));
  if (Result<> valid = api::validate_update(*before, *after, defaults_); !valid) return valid;
  for (std::size_t i = 0; i < before->spec.pool_items.size(); ++i) {
    const std::string& name = before->spec.pool_items[i].item_name;
    const bool stays =
        std::ranges::find(after->spec.pool_items, name, &api::PortPoolItem::item_name) !=
        after->spec.pool_items.end();
    if (stays) continue;
    const auto slots = held({request.ns, request.name}, name);
    if (!slots.empty()) {
      return fail(in_use(request.describe(), fmt::format("spec.poolItems[{}]", i),
                         fmt::format("item {}, which the change removes,", name), slots));
    }
  }
  return {};
}

Result<> PortPoolGate::check_removal(const AdmissionRequest& request) const {
  const auto slots = held({request.ns, request.name}, "");
  if (slots.empty()) return {};
  return fail(in_use(request.describe(), "", "the pool", slots));
}

std::vector<claims::ListenerPtr> PortPoolGate::held(const kube::ObjectKey& pool,
                                                    std::string_view item) const {
  std::vector<claims::ListenerPtr> out;
  for (const auto& listener : listeners_.by_index(claims::kPoolIndex, pool.to_string())) {
    if (is_held(*listener) && (item.empty() || claims::item_of(*listener) == item))
      out.push_back(listener);
  }
  return out;
}

}  // namespace berth::admission
