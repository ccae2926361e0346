#include "admission/port_pools.h"

#include <algorithm>
#include <set>

#include "api/decode.h"
#include "api/pool_access.h"
#include "api/provider_warnings.h"
#include "claims/exhausted.h"

namespace berth::admission {
namespace {

using kube::AdmissionAnswer;
using kube::AdmissionRequest;

// A quarantined slot is nobody's any more. What cannot be read is held: a newer version of us may
// have written it.
bool is_held(const api::Listener& listener) {
  if (claims::is_unreadable(listener)) return true;
  const auto claim = claims::claim_of(listener);
  return claim && claim->state != ledger::SlotState::quarantined;
}

Error in_use(const AdmissionRequest& request, std::string field, std::string what,
             const std::vector<claims::ListenerPtr>& slots) {
  return error_of(Code::conflict, "{} is in use: {} ports are held by {}", what, slots.size(),
                  claims::name_holders(slots, request.ns))
      .about(request.describe())
      .at(std::move(field))
      .with_hint("delete the workloads first; ports with a keep duration are free when it is over");
}

// A pool from before our rules, or under another controller's, must still get labels and
// finalizers; the status of its items says what is wrong with it.
bool keeps_its_spec(const AdmissionRequest& request) {
  const wire::Value* const before = wire::find(request.old_object, "/spec");
  const wire::Value* const after = wire::find(request.object, "/spec");
  return request.operation == "UPDATE" && before && after && *before == *after;
}

// Who may use the pool. What was there before does not hold other changes back; it is warned about.
Result<std::vector<std::string>> check_access(const AdmissionRequest& request) {
  const kube::StringMap after = api::access_annotations(request.object);
  const Result<api::PoolAccess> access = api::pool_access(after);
  if (access) return std::vector<std::string>{};
  const bool is_old =
      request.operation == "UPDATE" && api::access_annotations(request.old_object) == after;
  if (!is_old) return fail(Error(access.error()).about(request.describe()));
  return std::vector<std::string>{
      fmt::format("{}: {}: {}; until that is right, only the pool's own namespace may use it",
                  request.describe(), access.error().field, access.error().message)};
}

}  // namespace

Result<AdmissionAnswer> PortPoolGate::admit(const AdmissionRequest& request) const {
  if (request.operation == "DELETE") {
    if (Result<> allowed = check_removal(request); !allowed) return pass(allowed);
    return AdmissionAnswer{};
  }
  // It is on its way out: nothing may hold its finalizers back.
  if (!wire::string_at(request.object, "/metadata/deletionTimestamp").empty())
    return AdmissionAnswer{};
  Result<std::vector<std::string>> doubts = check_access(request);
  if (!doubts) return pass(doubts);
  if (keeps_its_spec(request)) return AdmissionAnswer{.warnings = std::move(*doubts)};
  Result<api::PortPool> pool = api::decode_incoming_port_pool(request.object);
  if (!pool) return fail(std::move(pool.error()).about(request.describe()));
  Result<> allowed = request.operation == "UPDATE" ? check_update(request, *pool)
                                                   : api::validate(*pool, reading_of(*pool));
  if (!allowed) return pass(allowed);
  if (Result<> fits = check_segments(*pool); !fits) return pass(fits);
  if (Result<> free = check_neighbours(request, *pool); !free) return pass(free);
  AdmissionAnswer answer{.warnings = warnings_for(request, *pool)};
  answer.warnings.insert(answer.warnings.end(), doubts->begin(), doubts->end());
  return answer;
}

api::ReadingOf PortPoolGate::reading_of(const api::PortPool& pool) const {
  return [this, &pool](const api::PortPoolItem& item) { return resolver_.reading_of(pool, item); };
}

// What was said when the pool was written need not be said with every change of it.
std::vector<std::string> PortPoolGate::warnings_for(const AdmissionRequest& request,
                                                    const api::PortPool& pool) const {
  std::vector<std::string> out = warnings_about(pool);
  if (request.operation != "UPDATE") return out;
  const Result<api::PortPool> before = api::decode_incoming_port_pool(request.old_object);
  const std::vector<std::string> said = before ? warnings_about(*before) : decltype(out){};
  std::erase_if(out,
                [&](const std::string& one) { return std::ranges::find(said, one) != said.end(); });
  return out;
}

std::vector<std::string> PortPoolGate::warnings_about(const api::PortPool& pool) const {
  std::vector<std::string> out = api::warnings_about(pool);
  std::set<model::Provider> providers;
  for (std::size_t i = 0; i < pool.spec.pool_items.size(); ++i) {
    warn_of_neighbours(pool, i, out);
    const api::PortPoolItem& item = pool.spec.pool_items[i];
    const model::Reading reading = resolver_.reading_of(pool, item);
    for (std::size_t j = 0; j < item.load_balancer_ids.size(); ++j) {
      const auto lb = reading.read(item.load_balancer_ids[j]);
      if (!lb) continue;
      providers.insert(lb->provider);
      if (is_served_(*lb)) continue;
      out.push_back(fmt::format(
          "PortPool {}: spec.poolItems[{}].loadBalancerIDs[{}]: nothing here serves {} load "
          "balancers: the item stays NotReady until the controller can",
          pool.meta.key().to_string(), i, j, model::to_string(lb->provider)));
    }
  }
  std::ranges::move(api::warnings_about(pool, providers), std::back_inserter(out));
  return out;
}

Result<> PortPoolGate::check_segments(const api::PortPool& pool) const {
  for (std::size_t i = 0; i < pool.spec.pool_items.size(); ++i) {
    // What a name means may not be known yet: its status says it then.
    const auto lbs = resolver_.load_balancers_of(pool, pool.spec.pool_items[i]);
    for (const model::LoadBalancerRef& lb : lbs ? *lbs : std::vector<model::LoadBalancerRef>{}) {
      if (Result<> fits = api::validate_segments(pool, i, lb, neighbours_.type_of(lb)); !fits)
        return fits;
    }
  }
  return {};
}

std::vector<std::string> PortPoolGate::granted_to_others(const api::PortPool& pool,
                                                         std::size_t item) const {
  std::vector<std::string> out;
  const api::PortPoolItem& one = pool.spec.pool_items[item];
  const auto lbs = resolver_.load_balancers_of(pool, one);
  const auto protocols = api::protocols_of(one);
  if (!lbs || !protocols) return out;
  const Self self{api::port_pool_kind().type.kind, pool.meta.key()};
  for (const model::LoadBalancerRef& lb : *lbs)
    for (const model::Protocol protocol : *protocols)
      if (auto other =
              neighbours_.granted(self, {lb, api::pool_transport(protocol), api::ports_of(one)}))
        out.push_back(std::move(*other));
  return out;
}

Result<> PortPoolGate::check_neighbours(const AdmissionRequest& request,
                                        const api::PortPool& pool) const {
  if (taken_ == Taken::waited_for) return {};
  std::set<std::string> known;
  if (request.operation == "UPDATE") {
    const Result<api::PortPool> before = api::decode_incoming_port_pool(request.old_object);
    for (std::size_t i = 0; before && i < before->spec.pool_items.size(); ++i)
      for (std::string& other : granted_to_others(*before, i)) known.insert(std::move(other));
  }
  for (std::size_t i = 0; i < pool.spec.pool_items.size(); ++i) {
    for (const std::string& other : granted_to_others(pool, i)) {
      if (known.contains(other)) continue;
      return fail(error_of(Code::conflict, "{}", other)
                      .about("PortPool " + pool.meta.key().to_string())
                      .at(fmt::format("spec.poolItems[{}].startPort", i))
                      .with_hint("choose other ports, or another load balancer"));
    }
  }
  return {};
}

void PortPoolGate::warn_of_neighbours(const api::PortPool& pool, std::size_t item,
                                      std::vector<std::string>& out) const {
  const api::PortPoolItem& one = pool.spec.pool_items[item];
  const Self self{api::port_pool_kind().type.kind, pool.meta.key()};
  const auto lbs = resolver_.load_balancers_of(pool, one);
  const auto protocols = api::protocols_of(one);
  std::vector<std::string> others = granted_to_others(pool, item);
  for (std::size_t i = 0; others.empty() && lbs && protocols && i < lbs->size(); ++i)
    for (const model::Protocol protocol : *protocols)
      if (auto foreign = neighbours_.foreign(
              self, {(*lbs)[i], api::pool_transport(protocol), api::ports_of(one)}))
        others.push_back(std::move(*foreign));
  if (others.empty()) return;
  // One is enough to look at.
  out.push_back(fmt::format(
      "PortPool {}: spec.poolItems[{}].startPort: {}: the item has none of its ports until all of "
      "them are free",
      pool.meta.key().to_string(), item, others.front()));
}

Result<> PortPoolGate::check_update(const AdmissionRequest& request,
                                    const api::PortPool& after) const {
  Result<api::PortPool> before = api::decode_incoming_port_pool(request.old_object);
  if (!before) return fail(std::move(before.error()).about(request.describe()));
  if (Result<> valid = api::validate_update(*before, after, reading_of(after)); !valid)
    return valid;
  for (std::size_t i = 0; i < before->spec.pool_items.size(); ++i) {
    const std::string& name = before->spec.pool_items[i].item_name;
    const bool stays =
        std::ranges::find(after.spec.pool_items, name, &api::PortPoolItem::item_name) !=
        after.spec.pool_items.end();
    if (stays) continue;
    if (Result<> known = check_cache(request); !known) return known;
    const auto slots = held({request.ns, request.name}, name);
    if (!slots.empty()) {
      return fail(in_use(request, fmt::format("spec.poolItems[{}]", i),
                         fmt::format("item {}, which the change removes,", name), slots));
    }
  }
  return {};
}

Result<> PortPoolGate::check_cache(const AdmissionRequest& request) const {
  if (listeners_.synced()) return {};
  return fail(error_of(Code::unavailable, "it is not known yet which of its ports are in use")
                  .about(request.describe())
                  .with_hint("the controller has just started: try again"));
}

Result<> PortPoolGate::check_removal(const AdmissionRequest& request) const {
  if (Result<> known = check_cache(request); !known) return known;
  const auto slots = held({request.ns, request.name}, "");
  if (slots.empty()) return {};
  return fail(in_use(request, "", "the pool", slots));
}

std::vector<claims::ListenerPtr> PortPoolGate::held(const kube::ObjectKey& pool,
                                                    std::string_view item) const {
  std::vector<claims::ListenerPtr> out;
  for (const auto& listener : listeners_.by_index(claims::kOwnerIndex, claims::pool_key(pool))) {
    if (is_held(*listener) && (item.empty() || claims::item_of(*listener) == item))
      out.push_back(listener);
  }
  return out;
}

}  // namespace berth::admission
