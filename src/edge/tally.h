// What was carried, in plain numbers; and a book that remembers it of listeners that are gone, so
// that sums only grow.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <string_view>

#include "base/mutex.h"
#include "edge/seats.h"
#include "model/load_balancer.h"
#include "model/port.h"

namespace berth::edge {

// Why somebody was not taken in, or had to go.
enum class Reason : std::uint8_t {
  target,    // there is none, or none that answered
  files,     // no file descriptor, and no place among all sessions
  listener,  // the listener has as many as it may have
  client,    // the client's address has
};
inline constexpr std::array kReasons{Reason::target, Reason::files, Reason::listener,
                                     Reason::client};
using ByReason = std::array<std::uint64_t, kReasons.size()>;
std::string_view to_string(Reason reason);
Reason reason_of(Bound bound);

struct Tally {
  std::uint64_t connections = 0;
  std::uint64_t active = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t datagrams_in = 0;
  std::uint64_t datagrams_out = 0;
  ByReason refused_by{};    // clients that were turned away
  ByReason displaced_by{};  // UDP sessions that ended because another one needed their place
  std::uint64_t dropped = 0;
  std::uint64_t connect_failures = 0;

  std::uint64_t refused() const {
    return std::accumulate(refused_by.begin(), refused_by.end(), std::uint64_t{0});
  }

  Tally& operator+=(const Tally& other) {
    connections += other.connections;
    active += other.active;
    bytes_in += other.bytes_in;
    bytes_out += other.bytes_out;
    datagrams_in += other.datagrams_in;
    datagrams_out += other.datagrams_out;
    for (std::size_t i = 0; i < kReasons.size(); ++i) {
      refused_by[i] += other.refused_by[i];
      displaced_by[i] += other.displaced_by[i];
    }
    dropped += other.dropped;
    connect_failures += other.connect_failures;
    return *this;
  }
};

// Load balancers have thousands of ports, which come and go: sums are kept for all of one protocol.
struct TallyKey {
  model::LoadBalancerRef lb{};
  model::Transport protocol = model::Transport::tcp;
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
