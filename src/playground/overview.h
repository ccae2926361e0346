// What runs, as rows for a person: made from the objects as the server has them. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/port.h"
#include "wire/value.h"

namespace berth::playground {

// By address of a load balancer: ports below the limit are open at port + offset, since an
// unprivileged process cannot open them.
struct LowPorts {
  std::int64_t limit = 0;
  std::int64_t offset = 0;
};
using LowPortsByVip = std::map<std::string, LowPorts>;
// Of a LoadBalancer object.
void add_low_ports(const wire::Value& load_balancer, LowPortsByVip& out);

// One public port of a room.
struct RoomPort {
  std::string protocol;        // "TCP"
  std::int64_t container = 0;  // the Pod's own port
  model::Target open_at;       // where a client on this machine connects to
};

// A room, as a person at the keyboard wants to know it.
struct Room {
  std::string pod;      // namespace/name
  std::string uid;      // of the Pod
  std::string address;  // "127.76.87.120:30004"; empty until it has one
  std::string status;   // Ready or NotReady
  std::vector<RoomPort> ports{};
};

struct PodRow {
  std::string pod;     // namespace/name
  std::string ready;   // "1/1"
  std::string status;  // as kubectl has it: "Running", "Terminating", "Pending", ...
  std::string ip;
  // Its public addresses, with "(NotReady)" while they do not lead to the Pod; else its host ports.
  std::string room;
  std::string took{};  // "0.142 s" from creation until the address led to it
};

// By protocol. "20 x TCP,UDP": twenty numbers, each of them for both.
using PortCounts = std::map<std::string, std::int64_t>;
std::string to_string(const PortCounts& counts);

struct PoolRow {
  std::string pool;  // namespace/name
  std::string status{};
  PortCounts ports{};
  PortCounts used{};
};

// A workload whose Pods were refused: they are nowhere else to be seen.
struct RefusedRow {
  std::string workload;  // namespace/name
  std::string kind;      // "StatefulSet"
  std::int64_t missing = 0;
  std::int64_t wanted = 0;
  std::string why;
};
// "10 of 30 Pods of StatefulSet play/room refused: PortPool play/p: no free TCP port"
std::string to_string(const RefusedRow& row);

struct ServiceRow {
  std::string service;  // namespace/name
  std::string type;
  std::string cluster_ip;
  std::string external_ip;  // "<pending>" for a load balancer that has none yet
  std::string ports;        // "80:30080/TCP"
};

struct Overview {
  std::vector<PodRow> pods{};
  std::vector<ServiceRow> services{};
  std::vector<PoolRow> pools{};
  std::vector<RefusedRow> refused{};
  std::size_t controller_restarts = 0;
};

// True: the Pod asked for a port of a pool.
bool wants_room(const wire::Value& pod);
Room room_of(const wire::Value& pod, const LowPortsByVip& low = {});
PodRow pod_row(const wire::Value& pod, std::optional<Duration> took = {},
               const LowPortsByVip& low = {});
ServiceRow service_row(const wire::Value& service);

}  // namespace berth::playground
