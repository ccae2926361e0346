// Traffic for benches of load balancers: rooms on 127.0.0.x, and players that reach them through a
// door. The same for every balancer, and as cheap as it can be: what is measured is what lies
// between. Each has a thread of its own.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "base/result.h"
#include "model/port.h"

namespace berth::bench {

inline constexpr int kRooms = 16;

enum class Traffic : std::uint8_t {
  stream,     // TCP: rooms send without end, players read
  calls,      // TCP: a connection for each question and its answer
  datagrams,  // UDP: rooms echo, each player has a few datagrams under way
};

// What a running load does; stops when it is destroyed.
class Running {
 public:
  virtual ~Running() = default;
};

// 127.0.0.2 to 127.0.0.17, each on this port.
std::vector<model::Target> rooms_at(model::Port port);
Result<std::unique_ptr<Running>> open_rooms(Traffic traffic, model::Port port);

// Bytes, calls or answered datagrams per second for a while, after a short warm-up.
Result<double> measure(Traffic traffic, const model::Target& door, std::chrono::milliseconds span);

}  // namespace berth::bench
