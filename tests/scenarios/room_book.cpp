#include "room_book.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "api/decode.h"
#include "api/go_duration.h"

namespace berth::scenario {
namespace {

using wire::Value;

// The server's clock has whole seconds in some places, and a look at it takes a moment.
constexpr Duration kSlack = std::chrono::seconds{1};

std::string_view annotation(const Value& pod, std::string_view key) {
  return wire::string_at(pod, "/metadata/annotations/" + wire::escape_pointer_step(key));
}

// Whatever the annotation says: somebody may have emptied it.
bool asks_for_ports(const Value& pod) {
  return wire::find(pod, "/metadata/annotations/" +
                             wire::escape_pointer_step(api::kPortPoolsAnnotation)) != nullptr;
}

// Entries that an annotation asks for: TCP_UDP are two.
std::size_t entries_of(std::string_view request) {
  const auto asked = api::parse_port_requests(request, "games");
  if (!asked) return 0;
  std::size_t count = 0;
  for (const api::PortRequest& one : *asked)
    count += std::max<std::size_t>(one.protocols.size(), 1);
  return count;
}

template <class Body>
bool has_item(const Value& pod, std::string_view list, Body fits) {
  const wire::Array* items = wire::array_at(pod, list);
  return items && std::ranges::any_of(*items, fits);
}

bool has_gate(const Value& pod) {
  return has_item(pod, "/spec/readinessGates", [](const Value& gate) {
    return wire::string_at(gate, "/conditionType") == api::kPortsReadyCondition;
  });
}

bool is_gate_open(const Value& pod) {
  return has_item(pod, "/status/conditions", [](const Value& condition) {
    return wire::string_at(condition, "/type") == api::kPortsReadyCondition &&
           wire::string_at(condition, "/status") == "True";
  });
}

// What stands in this book and in the ledger's; most writes are of something else.
bool is_noted(std::string_view url) {
  return std::ranges::any_of(std::array{"/pods", "/listeners", "/loadbalancers", "/portblocks"},
                             [url](std::string_view part) { return url.contains(part); });
}

std::vector<std::string> ports_shown(const Room& room) {
  std::vector<std::string> out;
  for (const api::PortBindingItem& binding : room.bindings)
    out.push_back(fmt::format("{}/{}/{}/{}", binding.pool_name, binding.pool_item_name,
                              binding.protocol, binding.start_port));
  return out;
}

}  // namespace

std::vector<Place> places_of(const api::PortBindingItem& binding,
                             const model::LoadBalancerDefaults& defaults) {
  std::vector<Place> out;
  for (const std::string& id : binding.load_balancer_ids) {
    if (const auto lb = model::parse_load_balancer(id, defaults)) {
      out.push_back({*lb, binding.protocol == "UDP" ? model::Transport::udp : model::Transport::tcp,
                     static_cast<model::Port>(binding.start_port)});
    }
  }
  return out;
}

RoomBook::RoomBook(world::World& world, Duration quarantine)
    : world_(world), quarantine_(quarantine), ledger_(world) {
  observing_ = world.cluster().gateway().observe(
      [this](const net::Request& request, const world::SeenReply& reply) { see(request, reply); });
  world.view().observe([this](const sim::lb::Change& change) {
    if (!closed_) see_change(change);
    if (other_) other_(change);
  });
}

RoomBook::~RoomBook() { world_.view().observe({}); }

void RoomBook::look_only_at(std::set<std::string> namespaces) {
  ledger_.look_only_at(namespaces);
  namespaces_ = std::move(namespaces);
}

void RoomBook::close() {
  observing_.reset();
  closed_ = true;
}

void RoomBook::take_stock() {
  rooms_.clear();
  const auto pods = world_.cluster().list("/api/v1/pods");
  for (const Value& pod : pods ? *pods : std::vector<Value>{}) {
    if (asks_for_ports(pod)) rooms_[std::string(wire::string_at(pod, "/metadata/uid"))] = read(pod);
  }
}

void RoomBook::check_leaders() {
  const int leaders = world_.leaders();
  if (leaders > 1) world_.kernel().fail(fmt::format("{} replicas lead", leaders));
}

Room RoomBook::read(const Value& pod) {
  Room room{.name = std::string(wire::string_at(pod, "/metadata/name")),
            .ip = std::string(wire::string_at(pod, "/status/podIP")),
            .request = std::string(annotation(pod, api::kPortsAnnotation)),
            .keep = api::parse_go_duration(annotation(pod, api::kKeepDurationAnnotation))
                        .value_or(Duration::zero()),
            .has_gate = has_gate(pod),
            .gate_open = is_gate_open(pod),
            .ready = annotation(pod, api::kBindStatusAnnotation) == "Ready"};
  room.asked_for = entries_of(room.request);
  if (auto bindings = api::decode_pool_bindings(annotation(pod, api::kPoolBindingsAnnotation)))
    room.bindings = std::move(*bindings);
  room.asks = wire::find(pod, "/metadata/annotations/" +
                                  wire::escape_pointer_step(api::kPortPoolsAnnotation)) != nullptr;
  room.leaving = !wire::string_at(pod, "/metadata/deletionTimestamp").empty();
  const std::string_view phase = wire::string_at(pod, "/status/phase");
  room.ended = phase == "Succeeded" || phase == "Failed";
  return room;
}

void RoomBook::see(const net::Request& request, const world::SeenReply& reply) {
  if (request.method == "GET" || reply.status() >= 300 || !is_noted(request.url) ||
      request.url.find("dryRun") != std::string::npos)
    return;
  const Value* const object = reply.object();
  if (!object) return;
  ledger_.see(request, *object);
  if (wire::string_at(*object, "/kind") == "Pod") see_pod(request, *object);
}

void RoomBook::see_pod(const net::Request& request, const Value& pod) {
  const std::string ns(wire::string_at(pod, "/metadata/namespace"));
  if (!namespaces_.empty() && !namespaces_.contains(ns)) return;
  const std::string uid(wire::string_at(pod, "/metadata/uid"));
  const bool gone = request.method == "DELETE" &&
                    wire::int_at(pod, "/metadata/deletionGracePeriodSeconds").value_or(0) == 0;
  const auto known = rooms_.find(uid);
  const bool is_new = known == rooms_.end();
  // What has ports and did not ask us has them from another controller.
  if (is_new && !asks_for_ports(pod)) return;
  const Room before = is_new ? Room{} : known->second;
  if (gone) {
    if (!is_new && !before.ended) note_end(before);
    rooms_.erase(uid);
    return;
  }
  const Room& room = rooms_[uid] = read(pod);
  if (room.bindings.size() != room.asked_for) {
    world_.kernel().fail(fmt::format("{} asked for {} ports and was told of {}", room.name,
                                     room.asked_for, room.bindings.size()));
  }
  if (is_new) check_new(uid, room);
  if (!before.ended && room.ended) note_end(room);
  if (room.ready && !room.ended) check_reached(room);
  if (room.ready && !before.ready) ++ever_ready_;
}

void RoomBook::see_change(const sim::lb::Change& change) {
  for (const auto& [uid, room] : rooms_) {
    if (room.ready && !room.ended) check_reached(room);
  }
  const bool led = change.before && !model::targets_of(change.before->spec).empty();
  const bool leads = change.after && !model::targets_of(change.after->spec).empty();
  if (!led || leads) return;
  last_use_[place_of(change.lb, *change.before)].cleared = world_.kernel().now();
}

void RoomBook::note_end(const Room& room) {
  past_[room.name] = {room, world_.kernel().now()};
  for (const api::PortBindingItem& binding : room.bindings)
    for (const Place& place : places_of(binding)) last_use_[place].name = room.name;
}

void RoomBook::check_new(const std::string& uid, const Room& room) {
  check_alone(uid, room);
  for (const api::PortBindingItem& binding : room.bindings)
    for (const Place& place : places_of(binding)) check_rested(room, place);
  check_came_back(room);
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

// Players of the last owner must not meet a stranger.
void RoomBook::check_rested(const Room& room, const Place& place) {
  const auto it = last_use_.find(place);
  const bool returns = it != last_use_.end() && it->second.name == room.name;
  if (returns) return;
  const auto listener = world_.view().find(place.lb, place.protocol, place.port);
  if (listener && !model::targets_of(listener->spec).empty()) {
    world_.kernel().fail(fmt::format("{} was given port {}, which still leads to {}", room.name,
                                     shown(place),
                                     model::targets_of(listener->spec).front().target.ip));
  }
  if (it == last_use_.end() || it->second.name.empty() || it->second.cleared == Instant{}) return;
  const Duration rested = world_.kernel().now() - it->second.cleared;
  if (rested < quarantine_) {
    world_.kernel().fail(fmt::format("{} was given port {} {:.1f} s after {} had it", room.name,
                                     shown(place), to_seconds(rested), it->second.name));
  }
}

void RoomBook::check_came_back(const Room& room) {
  const auto it = past_.find(room.name);
  if (it == past_.end()) return;
  const Room& former = it->second.room;
  const bool kept = former.keep > Duration::zero() && former.ready &&
                    former.request == room.request && former.keep == room.keep;
  if (!kept || world_.kernel().now() - it->second.since > former.keep - kSlack) return;
  ++came_back_;
  if (ports_shown(former) == ports_shown(room)) return;
  world_.kernel().fail(fmt::format("{} keeps {} and was given {}", room.name,
                                   fmt::join(ports_shown(former), ", "),
                                   fmt::join(ports_shown(room), ", ")));
}

bool RoomBook::has(const Room& room, const Place& place) const {
  return std::ranges::any_of(room.bindings, [&](const api::PortBindingItem& binding) {
    const std::vector<Place> places = places_of(binding);
    return std::ranges::find(places, place) != places.end();
  });
}

bool RoomBook::leads_to(const Place& place, const api::PortBindingItem& binding,
                        const Room& room) const {
  const auto listener = world_.view().find(place.lb, place.protocol, place.port);
  if (!listener || model::targets_of(listener->spec).size() != 1) return false;
  const model::WeightedTarget target = model::targets_of(listener->spec).front();
  return target.target.ip == room.ip && target.target.port == binding.rs_start_port &&
         (target.weight > 0 || room.leaving);
}

void RoomBook::check_reached(const Room& room) {
  if (bears_unreached_) return;
  for (const api::PortBindingItem& binding : room.bindings) {
    for (const Place& place : places_of(binding)) {
      if (leads_to(place, binding, room)) continue;
      world_.kernel().fail(fmt::format("{} was told Ready, but port {} does not lead to it",
                                       room.name, shown(place)));
    }
  }
}

std::size_t RoomBook::ports_in_use(std::string_view pool) const {
  std::size_t used = 0;
  for (const auto& [uid, room] : rooms_) {
    if (room.ended) continue;
    used += static_cast<std::size_t>(
        std::ranges::count(room.bindings, pool, &api::PortBindingItem::pool_name));
  }
  return used;
}

const Room* RoomBook::owner_of(const Place& place) const {
  for (const auto& [uid, room] : rooms_)
    if (!room.ended && has(room, place)) return &room;
  return nullptr;
}

}  // namespace berth::scenario
