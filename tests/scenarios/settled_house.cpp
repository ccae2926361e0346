#include "settled_house.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "api/decode.h"
#include "api/keys.h"
#include "claims/grantor.h"
#include "ingress_book.h"

namespace berth::scenario {
namespace {

using wire::Value;

const std::string kOurs = "/apis/networkextension.bkbcs.tencent.com/v1/";
const std::string kBalancers = "/apis/berth.dev/v1/loadbalancers";
const std::string kBlocks = "/apis/berth.dev/v1/portblocks";

class Inspection {
 public:
  Inspection(world::World& world, const RoomBook& book) : world_(world), book_(book) {}

  Result<> check() {
    if (world_.leaders() != 1) return fail(Code::internal, "{} replicas lead", world_.leaders());
    for (const auto part :
         {&Inspection::check_pools, &Inspection::check_ingresses, &Inspection::check_listeners,
          &Inspection::check_provider, &Inspection::check_rooms, &Inspection::check_bindings,
          &Inspection::check_balancers}) {
      if (Result<> fine = (this->*part)(); !fine) return fine;
    }
    return {};
  }

 private:
  using Item = std::pair<std::string, std::string>;  // uid of the pool, name of the item

  // Notes what there must be.
  Result<> check_pools() {
    Result<std::vector<Value>> pools = world_.cluster().list(kOurs + "portpools");
    if (!pools) return pass(pools);
    for (const Value& object : *pools) {
      const Result<api::PortPool> pool = api::decode_port_pool(object);
      if (!pool) return fail(pool.error());
      for (const api::PortPoolItem& item : pool->spec.pool_items) want(*pool, item);
      for (const api::PortPoolItemStatus& item : pool->status.pool_items) {
        if (item.status == api::kReady || want_leaving(*pool, item.item_name)) continue;
        return fail(Code::internal, "item {} is not Ready: {}", item.item_name,
                    wire::to_json(object));
      }
    }
    return {};
  }

  Result<> check_ingresses() {
    for (const api::Ingress& ingress : ingresses_in(world_)) {
      const std::string key = ingress.meta.key().to_string();
      if (ingress.status.status != api::kReady)
        return fail(Code::internal, "Ingress {} is not Ready: {}", key, ingress.status.message);
      for (const IngressPort& port : ports_wanted(world_, ingress)) {
        items_.insert({ingress.meta.uid, port.part});
        wanted_.insert(port.place);
        led_by_ingress_.insert(port.place);
        if (const auto there = targets_at(world_, port.place); there != port.targets)
          return fail(Code::internal, "port {} of Ingress {} leads to {}", shown(port.place), key,
                      fmt::join(there, ", "));
      }
    }
    return {};
  }

  void want(const api::PortPool& pool, const api::PortPoolItem& item) {
    items_.insert({pool.meta.uid, item.item_name});
    externals_[fmt::format("{}/{}", pool.meta.name, item.item_name)] = item.external;
    const auto lbs = api::load_balancers_of(item, world_.defaults());
    const auto protocols = api::protocols_of(item);
    for (std::int64_t slot = 0; slot < api::slot_count(item); ++slot)
      for (const model::Protocol protocol : *protocols)
        for (const model::LoadBalancerRef& lb : *lbs)
          wanted_.insert({lb, api::pool_transport(protocol), api::slot_ports(item, slot).first});
  }

  // An item that was taken out of its pool while a Pod was just getting a port of it stays as far
  // as that Pod needs it. False: none does.
  bool want_leaving(const api::PortPool& pool, const std::string& item) {
    bool used = false;
    for (const auto& [uid, room] : book_.rooms()) {
      for (const api::PortBindingItem& binding : room.bindings) {
        if (room.ended || binding.pool_name != pool.meta.name || binding.pool_item_name != item)
          continue;
        used = true;
        items_.insert({pool.meta.uid, item});
        for (const Place& place : places_of(binding, world_.defaults())) wanted_.insert(place);
      }
    }
    return used;
  }

  Result<> check_listeners() {
    Result<std::vector<Value>> listeners = world_.cluster().list(kOurs + "listeners");
    if (!listeners) return pass(listeners);
    std::set<Place> there;
    for (const Value& object : *listeners) {
      const Result<api::Listener> listener = api::decode_listener(object);
      if (!listener) return fail(listener.error());
      const auto lb = claims::load_balancer_of(*listener, world_.defaults());
      const auto protocols = claims::transports_of(*listener);
      if (!lb || protocols.empty())
        return fail(Code::internal, "{} makes no sense", wire::to_json(object));
      const Place place{*lb, protocols.front(), static_cast<model::Port>(listener->spec.port)};
      there.insert(place);
      if (Result<> fine = check_listener(*listener, place, object); !fine) return fine;
    }
    return compare("Listener", there);
  }

  Result<> check_listener(const api::Listener& listener, const Place& place, const Value& object) {
    if (!claims::is_applied(listener))
      return fail(Code::internal, "{} was never applied", wire::to_json(object));
    // Peers of a lock have no claim of their own.
    if (!kube::has(listener.meta.annotations, ledger::kClaimAnnotation)) return {};
    const auto claim = ledger::decode_claim(claims::claim_text(listener));
    if (!claim) return fail(claim.error());
    const Room* owner = book_.owner_of(place);
    if (*claim && !owner)
      return fail(Code::internal, "leaked claim of {}: {}", listener.meta.name,
                  claims::claim_text(listener));
    if (!*claim && owner)
      return fail(Code::internal, "{} has {}, which nobody claims", owner->name,
                  listener.meta.name);
    if (!*claim || book_.rooms().contains((*claim)->pod_uid)) return {};
    return fail(Code::internal, "the claim of a Pod that is gone: {}", wire::to_json(object));
  }

  Result<> compare(std::string_view what, const std::set<Place>& there) const {
    for (const Place& place : wanted_)
      if (!there.contains(place)) return fail(Code::internal, "no {} {}", what, shown(place));
    for (const Place& place : there)
      if (!wanted_.contains(place)) return fail(Code::internal, "left: {} {}", what, shown(place));
    return {};
  }

  Result<> check_provider() {
    std::set<Place> there;
    for (const model::LoadBalancerRef& lb : world_.view().load_balancers()) {
      for (const lb::ObservedListener& listener : world_.view().listeners(lb)) {
        const Place place = place_of(lb, listener);
        there.insert(place);
        if (book_.owner_of(place) || led_by_ingress_.contains(place) ||
            model::targets_of(listener.spec).empty())
          continue;
        return fail(Code::internal, "port {} leads to {}, which has no right to it", shown(place),
                    model::targets_of(listener.spec).front().target.ip);
      }
    }
    return compare("cloud listener", there);
  }

  Result<> check_rooms() {
    for (const auto& [uid, room] : book_.rooms()) {
      if (room.ended) continue;
      if (!room.ready) return fail(Code::internal, "{} was never told Ready", room.name);
      if (room.has_gate && !room.gate_open)
        return fail(Code::internal, "the gate of {} is shut", room.name);
      for (const api::PortBindingItem& binding : room.bindings) {
        for (const Place& place : places_of(binding, world_.defaults())) {
          if (!book_.leads_to(place, binding, room))
            return fail(Code::internal, "port {} does not lead to {}", shown(place), room.name);
        }
        const auto it =
            externals_.find(fmt::format("{}/{}", binding.pool_name, binding.pool_item_name));
        if (it != externals_.end() && it->second != binding.external)
          return fail(Code::internal, "{} was told '{}' and not '{}'", room.name, binding.external,
                      it->second);
      }
    }
    return {};
  }

  Result<> check_bindings() {
    Result<std::vector<Value>> objects = world_.cluster().list(kOurs + "portbindings");
    if (!objects) return pass(objects);
    std::set<std::string> ready;
    for (const Value& object : *objects) {
      const Result<api::PortBinding> binding = api::decode_port_binding(object);
      if (!binding) return fail(binding.error());
      const auto room = std::ranges::find_if(book_.rooms(), [&](const auto& one) {
        return !one.second.ended && one.second.name == binding->meta.name;
      });
      if (room == book_.rooms().end())
        return fail(Code::internal, "left: PortBinding {}", wire::to_json(object));
      if (binding->status.status != api::kReady ||
          binding->spec.port_binding_list != room->second.bindings)
        return fail(Code::internal, "PortBinding does not say so: {}", wire::to_json(object));
      ready.insert(binding->meta.name);
    }
    for (const auto& [uid, room] : book_.rooms())
      if (!room.ended && !ready.contains(room.name))
        return fail(Code::internal, "{} has no PortBinding", room.name);
    return {};
  }

  // Each of them has something in it.
  Result<std::map<std::string, claims::BlockPtr>> read_blocks() {
    Result<std::vector<Value>> objects = world_.cluster().list(kBlocks);
    if (!objects) return pass(objects);
    std::map<std::string, claims::BlockPtr> out;
    for (const Value& object : *objects) {
      Result<api::PortBlock> block = api::decode_port_block(object);
      if (!block) return fail(block.error());
      if (block->spec.grants.empty() || block->spec.closed)
        return fail(Code::internal, "left: PortBlock {}", block->meta.name);
      const std::string name = block->meta.name;
      out.emplace(name, std::make_shared<const api::PortBlock>(std::move(*block)));
    }
    return out;
  }

  Result<> check_balancers() {
    Result<std::vector<Value>> objects = world_.cluster().list(kBalancers);
    if (!objects) return pass(objects);
    Result<std::map<std::string, claims::BlockPtr>> blocks = read_blocks();
    if (!blocks) return pass(blocks);
    std::set<Item> granted;
    for (const Value& object : *objects) {
      const Result<api::LoadBalancer> balancer = api::decode_load_balancer(object);
      if (!balancer) return fail(balancer.error());
      if (balancer->spec.grants.empty())
        return fail(Code::internal, "left: LoadBalancer {}", balancer->meta.name);
      const auto find = [&](const std::string& name) {
        const auto block = blocks->extract(name);
        return block ? block.mapped() : nullptr;
      };
      for (const ledger::Grant& grant : claims::grants_of(*balancer, find)) {
        granted.insert({grant.owner.uid, grant.item});
        if (!items_.contains({grant.owner.uid, grant.item}))
          return fail(Code::internal, "left: a grant of {} to {}", balancer->meta.name,
                      grant.owner.name);
      }
    }
    if (!blocks->empty())
      return fail(Code::internal, "left: PortBlock {}, which nobody names", blocks->begin()->first);
    for (const Item& item : items_)
      if (!granted.contains(item))
        return fail(Code::internal, "item {} of pool {} has no grant", item.second, item.first);
    return {};
  }

  world::World& world_;
  const RoomBook& book_;
  std::set<Item> items_;
  std::set<Place> wanted_;
  std::set<Place> led_by_ingress_;
  std::map<std::string, std::string> externals_;  // by "pool/item"
};

}  // namespace

Result<> check_settled(world::World& world, const RoomBook& book) {
  return Inspection(world, book).check();
}

}  // namespace berth::scenario
