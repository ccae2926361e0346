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

struct PoolRow {
  std::string pool;  // namespace/name
  std::string status{};
  std::size_t ports = 0;  // TCP and UDP count apart
  std::size_t used = 0;
};

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
};

// True: the Pod asked for a port of a pool.
bool wants_room(const wire::Value& pod);
Room room_of(const wire::Value& pod, const LowPortsByVip& low = {});
PodRow pod_row(const wire::Value& pod, std::optional<Duration> took = {},
               const LowPortsByVip& low = {});
ServiceRow service_row(const wire::Value& service);

// The rows in columns under their headings, one line each. Empty when there is nothing.
std::string to_table(const Overview& overview);

}  // namespace berth::playground
