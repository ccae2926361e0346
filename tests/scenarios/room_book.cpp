#include "room_book.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/decode.h"
#include "claims/slot.h"

namespace berth::scenario {
namespace {

using wire::Value;

std::string_view annotation(const Value& pod, std::string_view key) {
  return wire::string_at(pod, "/metadata/annotations/" + wire::escape_pointer_step(key));
}

}  // namespace

std::vector<RoomBook::Place> RoomBook::places_of(const api::PortBindingItem& binding) {
  std::vector<Place> out;
  for (const std::string& id : binding.load_balancer_ids) {
    if (const auto lb = model::parse_load_balancer(id, {})) {
      out.push_back({*lb, binding.protocol == "UDP" ? model::Protocol::udp : model::Protocol::tcp,
                     static_cast<model::Port>(binding.start_port)});
    }
  }
  return out;
}

std::string RoomBook::shown(const Place& place) {
  return fmt::format("{} {} {}", model::to_string(place.lb), model::to_string(place.protocol),
                     place.port);
}

RoomBook::RoomBook(world::World& world) : world_(world) {
  observing_ = world.cluster().desk().observe(
      [this](const net::Request& request, const net::Reply& reply) { see(request, reply); });
  world.provider().observe([this](const sim::lb::Change&) {
    for (const auto& [uid, room] : rooms_) {
      if (room.ready && !room.ended) check_reached(room);
    }
  });
}

RoomBook::~RoomBook() { world_.provider().observe({}); }

void RoomBook::check_leaders() {
  const int leaders = world_.leaders();
  if (leaders > 1) world_.kernel().fail(fmt::format("{} replicas lead", leaders));
}

RoomBook::Room RoomBook::read(const Value& pod) {
  Room room{.name = std::string(wire::string_at(pod, "/metadata/name")),
            .ip = std::string(wire::string_at(pod, "/status/podIP")),
            .ready = annotation(pod, api::kBindStatusAnnotation) == "Ready"};
  if (const auto asked = api::parse_port_requests(annotation(pod, api::kPortsAnnotation), "games"))
    room.asked_for = asked->size();
  if (auto bindings = api::decode_pool_bindings(annotation(pod, api::kPoolBindingsAnnotation)))
    room.bindings = std::move(*bindings);
  room.leaving = !wire::string_at(pod, "/metadata/deletionTimestamp").empty();
  const std::string_view phase = wire::string_at(pod, "/status/phase");
  room.ended = phase == "Succeeded" || phase == "Failed";
  return room;
}

void RoomBook::see(const net::Request& request, const net::Reply& reply) {
  if (request.method == "GET" || reply.status >= 300) return;
  if (request.url.find("/pods") == std::string::npos) return;
  const Result<Value> pod = wire::parse_json(reply.body);
  if (!pod || wire::string_at(*pod, "/kind") != "Pod") return;
  const std::string uid(wire::string_at(*pod, "/metadata/uid"));
  const bool gone = request.method == "DELETE" &&
                    wire::int_at(*pod, "/metadata/deletionGracePeriodSeconds").value_or(0) == 0;
  const bool was_ready = rooms_.contains(uid) && rooms_[uid].ready;
  if (gone) {
    rooms_.erase(uid);
    return;
  }
  const Room& room = rooms_[uid] = read(*pod);
  if (room.bindings.size() != room.asked_for) {
    world_.kernel().fail(fmt::format("{} asked for {} ports and was told of {}", room.name,
                                     room.asked_for, room.bindings.size()));
  }
  if (!room.ended) check_alone(uid, room);
  if (room.ready && !room.ended) check_reached(room);
  if (room.ready && !was_ready) ++ever_ready_;
}

void RoomBook::check_alone(const std::string& uid, const Room& room) {
  for (const api::PortBindingItem& binding : room.bindings) {
    for (const Place& place : places_of(binding)) {
      for (const auto& [other_uid, other] : rooms_) {
        if (other.ended || other_uid == uid || !has(other, place)) continue;
        world_.kernel().fail(
            fmt::format("port {} belongs to {} and to {}", shown(place), room.name, other.name));
      }
    }
  }
}

bool RoomBook::has(const Room& room, const Place& place) {
  return std::ranges::any_of(room.bindings, [&](const api::PortBindingItem& binding) {
    const std::vector<Place> places = places_of(binding);
    return std::ranges::find(places, place) != places.end();
  });
}

bool RoomBook::leads_to(const Place& place, const api::PortBindingItem& binding,
                        const Room& room) const {
  const auto listener = world_.provider().find(place.lb, place.protocol, place.port);
  if (!listener || listener->spec.targets.size() != 1) return false;
  const model::WeightedTarget& target = listener->spec.targets.front();
  return target.target.ip == room.ip && target.target.port == binding.rs_start_port &&
         (target.weight > 0 || room.leaving);
}

void RoomBook::check_reached(const Room& room) {
  for (const api::PortBindingItem& binding : room.bindings) {
    for (const Place& place : places_of(binding)) {
      if (leads_to(place, binding, room)) continue;
      world_.kernel().fail(fmt::format("{} was told Ready, but port {} does not lead to it",
                                       room.name, shown(place)));
    }
  }
}

std::size_t RoomBook::ports_in_use() const {
  std::size_t used = 0;
  for (const auto& [uid, room] : rooms_) used += room.ended ? 0 : room.bindings.size();
  return used;
}

const RoomBook::Room* RoomBook::owner_of(const Place& place) const {
  for (const auto& [uid, room] : rooms_)
    if (!room.ended && has(room, place)) return &room;
  return nullptr;
}

Result<> RoomBook::check_listener(const Value& object) const {
  const Result<api::Listener> listener = api::decode_listener(object);
  if (!listener) return fail(listener.error());
  if (!claims::is_applied(*listener))
    return fail(Code::internal, "{} was never applied", wire::to_json(object));
  const auto lb = claims::load_balancer_of(*listener, {});
  const auto protocol = claims::protocol_of(*listener);
  if (!lb || !protocol) return fail(Code::internal, "{} makes no sense", wire::to_json(object));
  // Peers of a lock have no claim of their own.
  if (!kube::has(listener->meta.annotations, ledger::kClaimAnnotation)) return {};
  const auto claim = ledger::decode_claim(claims::claim_text(*listener));
  if (!claim) return fail(claim.error());
  const Room* owner = owner_of({*lb, *protocol, static_cast<model::Port>(listener->spec.port)});
  if (*claim && !owner) return fail(Code::internal, "leaked: {}", wire::to_json(object));
  if (!*claim && owner)
    return fail(Code::internal, "{} has {}, which nobody claims", owner->name, listener->meta.name);
  if (!*claim || rooms_.contains((*claim)->pod_uid)) return {};
  return fail(Code::internal, "the claim of a Pod that is gone: {}", wire::to_json(object));
}

Result<> RoomBook::check_places() const {
  for (const model::LoadBalancerRef& lb : world_.provider().load_balancers()) {
    for (const lb::ObservedListener& listener : world_.provider().listeners(lb)) {
      const Place place{lb, listener.spec.protocol, listener.spec.ports.first};
      if (owner_of(place) || listener.spec.targets.empty()) continue;
      return fail(Code::internal, "port {} leads to {}, which has no right to it", shown(place),
                  listener.spec.targets.front().target.ip);
    }
  }
  for (const auto& [uid, room] : rooms_) {
    if (room.ended) continue;
    if (!room.ready) return fail(Code::internal, "{} was never told Ready", room.name);
    for (const api::PortBindingItem& binding : room.bindings) {
      for (const Place& place : places_of(binding)) {
        if (!leads_to(place, binding, room))
          return fail(Code::internal, "port {} does not lead to {}", shown(place), room.name);
      }
    }
  }
  return {};
}

Result<> RoomBook::check_settled() {
  if (world_.leaders() != 1) return fail(Code::internal, "{} replicas lead", world_.leaders());
  Result<std::vector<Value>> listeners = world_.cluster().list(
      "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/listeners");
  if (!listeners) return pass(listeners);
  for (const Value& listener : *listeners) {
    if (Result<> fine = check_listener(listener); !fine) return fine;
  }
  return check_places();
}

}  // namespace berth::scenario
