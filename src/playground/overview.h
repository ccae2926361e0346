// What runs, as rows for a person: made from the objects as the server has them. Pure.
#pragma once

#include <string>
#include <vector>

#include "wire/value.h"

namespace berth::playground {

// A room, as a person at the keyboard wants to know it.
struct Room {
  std::string pod;      // namespace/name
  std::string address;  // "127.76.87.120:30004"; empty until it has one
  std::string status;   // Ready or NotReady
};

struct PodRow {
  std::string pod;     // namespace/name
  std::string ready;   // "1/1"
  std::string status;  // as kubectl has it: "Running", "Terminating", "Pending", ...
  std::string ip;
  // Its public address, with "(NotReady)" while it does not lead to the Pod; else its host ports.
  std::string room;
};

struct ServiceRow {
  std::string service;  // namespace/name
  std::string type;
  std::string cluster_ip;
  std::string external_ip;  // "<pending>" for a load balancer that has none yet
  std::string ports;        // "80:30080/TCP"
};

struct Overview {
  std::vector<PodRow> pods;
  std::vector<ServiceRow> services;
};

// True: the Pod asked for a port of a pool.
bool wants_room(const wire::Value& pod);
Room room_of(const wire::Value& pod);
PodRow pod_row(const wire::Value& pod);
ServiceRow service_row(const wire::Value& service);

// The rows in columns under their headings, one line each. Empty when there is nothing.
std::string to_table(const Overview& overview);

}  // namespace berth::playground
