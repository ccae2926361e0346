#include "former_house.h"

#include <boost/json.hpp>

#include "claims/pod_seal.h"
#include "claims/seal.h"
#include "edge/echo_server.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr auto kPatience = 60s;
constexpr int kAnswerMs = 2'000;

const RoomsSpec kRooms{.ns = kHouse, .name = "room", .replicas = 3};
const RoomsSpec kHalls{.ns = kHouse, .name = "hall", .replicas = 2, .ports = "halls TCP 8000"};
const RoomsSpec kNamed{
    .ns = kHouse, .name = "named", .replicas = 2, .ports = "kept TCP 8000", .keep = "24h"};
const std::string kLeaver = "leaver";

std::vector<Value> pools_of_the_house() {
  return {
      pool(kHouse, "rooms", {{.load_balancers = {"edge:house-a"}, .end = 30012}}),
      pool(kHouse, "halls",
           {{.load_balancers = {"edge:house-a"}, .start = 31000, .end = 31012, .segment = 3}}),
      pool(kHouse, "pairs",
           {{.load_balancers = {"edge:house-b", "edge:house-c"},
             .start = 32000,
             .end = 32004,
             .protocol = "TCP,UDP"}}),
      pool(kHouse, "kept", {{.load_balancers = {"edge:house-d"}, .start = 33000, .end = 33004}})};
}

std::string since(const Value& pod, std::string_view condition) {
  const Array* const all = wire::array_at(pod, "/status/conditions");
  for (const Value& one : all ? *all : Array{}) {
    if (wire::string_at(one, "/type") == condition && wire::string_at(one, "/status") == "True")
      return std::string(wire::string_at(one, "/lastTransitionTime"));
  }
  return "not now";
}

Result<> wait_for_rooms(BerthCluster& cluster, std::size_t count) {
  std::string why;
  const bool settled = eventually(kPatience, [&] {
    const std::vector<Room> all = rooms(cluster, kHouse);
    why = all.size() == count ? shared_ports(all) : fmt::format("{} of {}", all.size(), count);
    for (const Room& room : all)
      if (!room.ready || room.told != api::kReady) why = room.name + " is not Ready";
    return why.empty();
  });
  return settled ? Result<>{} : fail(Code::timeout, "{}", why);
}

}  // namespace

Result<> furnish(BerthCluster& cluster) {
  cluster.make_namespace(kHouse);
  for (const Value& one : pools_of_the_house())
    if (Result<> made = make_pool(cluster, one); !made) return made;
  for (const Value& one :
       {workload(kRooms), workload(kHalls), workload(kNamed),
        bare_room(kHouse, "pair-0", "pairs TCP_UDP 8000"),
        bare_room(kHouse, "pair-1", "pairs TCP_UDP 8000"), bare_room(kHouse, kLeaver)})
    if (const Result<Value> made = cluster.create(one); !made) return fail(made.error());
  if (Result<> settled = wait_for_rooms(cluster, 10); !settled) return settled;

  if (Result<> scaled = scale(cluster, kNamed, 1); !scaled) return scaled;
  const bool is_kept = eventually(kPatience, [&] {
    for (const auto& [name, claim] : claims_in(cluster, kHouse))
      if (claim.state == ledger::SlotState::kept) return true;
    return false;
  });
  return is_kept ? wait_for_rooms(cluster, 9) : fail(Code::timeout, "no name keeps its port");
}

Result<> leave_unseen(BerthCluster& cluster) {
  if (Result<> gone = cluster.remove(kube::types::kPod, kHouse, kLeaver); !gone) return gone;
  return wait_for_rooms(cluster, 8);
}

Census census(BerthCluster& cluster, const std::string& ns) {
  Census out;
  for (const Value& pod : cluster.list(kube::types::kPod, ns)) {
    const Room room = room_of(pod);
    out[room.name] = {.uid = room.uid,
                      .ip = room.ip,
                      .addresses = address_of(room),
                      .told = room.told,
                      .ready_since = since(pod, "Ready"),
                      .gate_since = since(pod, api::kPortsReadyCondition)};
  }
  return out;
}

std::string noticed(const Census& before, const Census& now) {
  std::string out;
  const auto compare = [&out](const std::string& name, std::string_view what,
                              const std::string& was, const std::string& is) {
    if (was != is) out += fmt::format("{}: {} was {}, is {}\n", name, what, was, is);
  };
  for (const auto& [name, lodger] : before) {
    const auto it = now.find(name);
    const Lodger found = it == now.end() ? Lodger{} : it->second;
    compare(name, "uid", lodger.uid, found.uid);
    compare(name, "ip", lodger.ip, found.ip);
    compare(name, "address", lodger.addresses, found.addresses);
    compare(name, "told", lodger.told, found.told);
    compare(name, "Ready since", lodger.ready_since, found.ready_since);
    compare(name, "gate open since", lodger.gate_since, found.gate_since);
  }
  return out;
}

std::string unsealed(BerthCluster& cluster, const std::string& ns) {
  std::string out;
  const auto look = [&out](const Value& object, std::string_view annotation) {
    const std::string at = "/metadata/annotations/" + wire::escape_pointer_step(annotation);
    if (wire::string_at(object, at).empty())
      out += fmt::format("{} has no {}\n", wire::string_at(object, "/metadata/name"), annotation);
  };
  for (const Value& listener : cluster.list(api::listener_kind().type, ns)) {
    look(listener, claims::kSealAnnotation);
    look(listener, claims::kBalancerAnnotation);
  }
  for (const Value& pod : cluster.list(kube::types::kPod, ns))
    look(pod, claims::kPortsSealAnnotation);
  return out;
}

Inventory inventory(BerthCluster& cluster, const std::string& ns) {
  Inventory out;
  const auto add = [&](const kube::ResourceType& type, const std::string& where) {
    for (Value& object : cluster.list(type, where)) {
      object.as_object()["metadata"].as_object().erase("managedFields");
      out[fmt::format("{} {}", type.kind, wire::string_at(object, "/metadata/name"))] =
          wire::to_json(object);
    }
  };
  for (const kube::ResourceType* type :
       {&kube::types::kPod, &api::listener_kind().type, &api::port_binding_kind().type,
        &api::port_pool_kind().type})
    add(*type, ns);
  add(api::load_balancer_kind().type, "");
  return out;
}

std::string written(const Inventory& before, const Inventory& now) {
  std::string out;
  for (const auto& [name, text] : before) {
    const auto it = now.find(name);
    if (it == now.end() || it->second != text)
      out += fmt::format("{} was {}\nis {}\n", name, text, it == now.end() ? "gone" : it->second);
  }
  for (const auto& [name, text] : now)
    if (!before.contains(name)) out += fmt::format("{} is new: {}\n", name, text);
  return out;
}

Result<std::unique_ptr<Players>> Players::start() {
  std::unique_ptr<Players> out(new Players);
  Result<std::unique_ptr<edge::EchoStation>> station = edge::EchoStation::start();
  if (!station) return pass(station);
  out->station_ = std::move(*station);
  return out;
}

Result<> Players::move_in(const Room& room) {
  std::vector<Place>& mine = places_[room.uid];
  if (!mine.empty()) return {};
  for (const api::PortBindingItem& port : room.ports) {
    Result<Place> place =
        station_->open({.protocol = *model::parse_transport(port.protocol),
                        .at = {room.ip, static_cast<model::Port>(port.rs_start_port)},
                        .greeting = room.name + "\n"});
    if (!place) return pass(place);
    mine.push_back(std::move(*place));
  }
  return {};
}

std::string Players::not_reached(const std::vector<Room>& rooms) {
  std::string out;
  for (const Room& room : rooms) {
    if (Result<> in = move_in(room); !in) return room.name + ": " + in.error().to_string();
    for (const api::PortBindingItem& port : room.ports) {
      for (const api::LoadBalancerBrief& lb : port.pool_item_load_balancers) {
        const model::Target at{lb.ips.empty() ? "" : lb.ips.front(),
                               static_cast<model::Port>(port.start_port)};
        const bool tcp = port.protocol == "TCP";
        const Result<std::string> heard = tcp ? edge::ask_over_tcp(at, "ahoy\n", kAnswerMs)
                                              : edge::ask_over_udp(at, "ahoy\n", kAnswerMs);
        const std::string expected = tcp ? room.name + "\nahoy\n" : "ahoy\n";
        if (heard && *heard == expected) continue;
        out += fmt::format("{} at {} {}:{}: {}\n", room.name, port.protocol, at.ip, at.port,
                           heard ? *heard : heard.error().to_string());
      }
    }
  }
  return out;
}

}  // namespace berth
