// What was carried, in plain numbers; and a book that remembers it of listeners that are gone, so
// that sums only grow.
#pragma once

#include <cstdint>
#include <map>

#include "base/mutex.h"
#include "model/load_balancer.h"
#include "model/port.h"

namespace berth::edge {

struct Tally {
  std::uint64_t connections = 0;
  std::uint64_t active = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t datagrams_in = 0;
  std::uint64_t datagrams_out = 0;
  std::uint64_t refused = 0;
  std::uint64_t dropped = 0;
  std::uint64_t connect_failures = 0;

  Tally& operator+=(const Tally& other) {
    connections += other.connections;
    active += other.active;
    bytes_in += other.bytes_in;
    bytes_out += other.bytes_out;
    datagrams_in += other.datagrams_in;
    datagrams_out += other.datagrams_out;
    refused += other.refused;
    dropped += other.dropped;
    connect_failures += other.connect_failures;
    return *this;
  }
};

// Load balancers have thousands of ports, which come and go: sums are kept for all of one protocol.
struct TallyKey {
  model::LoadBalancerRef lb{};
  model::Protocol protocol = model::Protocol::tcp;
  friend auto operator<=>(const TallyKey&, const TallyKey&) = default;
};
using Tallies = std::map<TallyKey, Tally>;

// Thread-safe: the last connection of a listener may end on any thread.
class TallyBook {
 public:
  void add(const TallyKey& key, const Tally& last) {
    const MutexLock lock(mu_);
    sums_[key] += last;
  }
  Tallies sums() const {
    const MutexLock lock(mu_);
    return sums_;
  }

 private:
  mutable Mutex mu_;
  Tallies sums_ GUARDED_BY(mu_);
};

}  // namespace berth::edge
