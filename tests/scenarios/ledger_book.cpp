#include "ledger_book.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "api/decode.h"
#include "controllers/portpool/pool_plan.h"

namespace berth::scenario {
namespace {

using wire::Value;

ledger::SlotState state_of(const api::Listener& listener) {
  const auto claim = claims::claim_of(listener);
  return claim ? claim->state : ledger::SlotState::free;
}

bool is_in_table(ledger::SlotState from, ledger::SlotState to) {
  return std::ranges::any_of(ledger::all_moves(), [&](const ledger::Move& move) {
    return move.from == from && move.to == to;
  });
}

bool has_overlap(const std::vector<ledger::Grant>& grants) {
  for (std::size_t i = 0; i < grants.size(); ++i)
    for (std::size_t k = i + 1; k < grants.size(); ++k)
      if (grants[i].transport == grants[k].transport && grants[i].ports.overlaps(grants[k].ports))
        return true;
  return false;
}

}  // namespace

Place place_of(const model::LoadBalancerRef& lb, const lb::ObservedListener& listener) {
  return {lb, model::transports_of(listener.spec.protocol).front(), listener.spec.ports.first};
}

std::string shown(const Place& place) {
  return fmt::format("{} {} {}", model::to_string(place.lb), model::to_string(place.protocol),
                     place.port);
}

void LedgerBook::see(const net::Request& request, const Value& object) {
  const std::string_view kind = wire::string_at(object, "/kind");
  if (kind == "Status" && request.method == "DELETE" &&
      wire::string_at(object, "/details/kind") == "listeners" && is_watched(request))
    return see_listener_gone(std::string(wire::string_at(object, "/details/name")));
  if (kind == "Status" && request.method == "DELETE" &&
      wire::string_at(object, "/details/kind") == "portblocks")
    blocks_.erase(std::string(wire::string_at(object, "/details/name")));
  const std::string name(wire::string_at(object, "/metadata/name"));
  const bool gone = request.method == "DELETE" &&
                    (wire::string_at(object, "/metadata/deletionTimestamp").empty() ||
                     wire::array_at(object, "/metadata/finalizers") == nullptr);
  const std::string ns(wire::string_at(object, "/metadata/namespace"));
  if (kind == "Listener" && namespaces_.contains(ns)) {
    if (gone) {
      listeners_.erase(name);
    } else {
      see_listener(object, request.method == "POST");
    }
  }
  if (kind == "LoadBalancer" || kind == "PortBlock") see_grants(object, gone);
}

bool LedgerBook::is_watched(const net::Request& request) const {
  return std::ranges::any_of(namespaces_, [&](const std::string& ns) {
    return request.url.find(fmt::format("/namespaces/{}/", ns)) != std::string::npos;
  });
}

// At once, without a finalizer that would have made it wait for the load balancer.
void LedgerBook::see_listener_gone(const std::string& name) {
  const auto gone = listeners_.extract(name);
  if (!gone) return;
  const auto lb = claims::load_balancer_of(gone.mapped(), world_.defaults());
  const auto protocol = claims::protocol_of(gone.mapped());
  if (!lb || !protocol) return;
  const auto port = static_cast<model::Port>(gone.mapped().spec.port);
  if (world_.view().find(*lb, api::pool_transport(*protocol), port))
    world_.kernel().fail(fmt::format("{} is gone, and its cloud listener is not", name));
}

void LedgerBook::see_listener(const Value& object, bool made) {
  const Result<api::Listener> listener = api::decode_listener(object);
  if (!listener) return;
  if (made) {
    check_granted(*listener,
                  std::string(wire::string_at(object, "/metadata/ownerReferences/0/uid")));
  }
  const auto it = listeners_.find(listener->meta.name);
  if (it != listeners_.end() && it->second.meta.uid == listener->meta.uid)
    check_move(it->second, *listener);
  listeners_.insert_or_assign(listener->meta.name, *listener);
  // The last finalizer went: so did the object.
  if (listener->meta.deleting && listener->meta.finalizers.empty())
    listeners_.erase(listener->meta.name);
}

void LedgerBook::check_move(const api::Listener& before, const api::Listener& after) {
  if (looks_away_ || claims::claim_text(before) == claims::claim_text(after)) return;
  const ledger::SlotState from = state_of(before);
  const ledger::SlotState to = state_of(after);
  if (from != to && !is_in_table(from, to)) {
    world_.kernel().fail(fmt::format("the claim of {} went from {} to {}", after.meta.name,
                                     ledger::to_string(from), ledger::to_string(to)));
  }
  if (to == ledger::SlotState::free) check_rests(after);
}

void LedgerBook::check_rests(const api::Listener& lock) {
  std::vector<std::string> names = controllers::portpool::peers_of(lock);
  names.push_back(lock.meta.name);
  for (const std::string& name : names) {
    const auto it = listeners_.find(name);
    if (it == listeners_.end()) continue;
    const auto lb = claims::load_balancer_of(it->second, world_.defaults());
    const auto protocol = claims::protocol_of(it->second);
    if (!lb || !protocol) continue;
    const auto port = static_cast<model::Port>(it->second.spec.port);
    const auto found = world_.view().find(*lb, api::pool_transport(*protocol), port);
    if (!found || model::targets_of(found->spec).empty()) continue;
    world_.kernel().fail(fmt::format("{} was freed, and port {} still leads to {}", lock.meta.name,
                                     shown({*lb, api::pool_transport(*protocol), port}),
                                     model::targets_of(found->spec).front().target.ip));
  }
}

void LedgerBook::check_granted(const api::Listener& listener, const std::string& owner_uid) {
  if (claims::is_foreign(listener)) return;  // somebody else's, and none of ours
  const auto lb = claims::load_balancer_of(listener, world_.defaults());
  const auto protocol = claims::protocol_of(listener);
  if (!lb || !protocol) return;
  const auto it = balancers_.find(model::object_name(*lb));
  const ledger::Grant wanted{.transport = api::pool_transport(*protocol),
                             .ports = api::ports_of(listener.spec),
                             .owner = {.uid = owner_uid},
                             .item = std::string(claims::item_of(listener))};
  if (it != balancers_.end() && ledger::has_grant(grants_of(it->second), wanted)) return;
  world_.kernel().fail(fmt::format("{} was made outside of a grant", listener.meta.name));
}

std::vector<ledger::Grant> LedgerBook::grants_of(const api::LoadBalancer& balancer) const {
  return claims::grants_of(balancer, [this](const std::string& name) {
    const auto it = blocks_.find(name);
    return it == blocks_.end() ? nullptr : it->second;
  });
}

void LedgerBook::see_grants(const Value& object, bool gone) {
  std::string name(wire::string_at(object, "/metadata/name"));
  if (wire::string_at(object, "/kind") == "PortBlock") {
    Result<api::PortBlock> block = api::decode_port_block(object);
    if (!block) return;
    blocks_[name] = gone ? nullptr : std::make_shared<const api::PortBlock>(*block);
    name = block->spec.load_balancer;
  } else if (gone) {
    balancers_.erase(name);
  } else if (Result<api::LoadBalancer> balancer = api::decode_load_balancer(object)) {
    balancers_.insert_or_assign(name, *balancer);
  }
  const auto it = balancers_.find(name);
  if (it != balancers_.end() && has_overlap(grants_of(it->second)))
    world_.kernel().fail(fmt::format("{} has grants that overlap", name));
}

}  // namespace berth::scenario
