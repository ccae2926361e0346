// How often each host port of a range is used, and the choice of the least used ones.
//
// Two things are counted: Pods that hold a port, as the Pod cache shows them, and for some seconds
// the answers whose Pods have not been seen yet. Nothing is counted for good when a port is given:
// a Pod that is refused after our answer is forgotten when its reservation has run out. A pure
// value: time and randomness are parameters. Not thread-safe, the owner has the lock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "model/port.h"

namespace berth::ledger {

// How long an answer counts whose Pod is not seen. Admission is over in milliseconds; other
// webhooks may take some seconds. Too short or too long costs only a port that is used more than
// others.
inline constexpr Duration kHostPortReservation = std::chrono::seconds{10};

class HostPortUse {
 public:
  explicit HostPortUse(model::PortRange range);

  const model::PortRange& range() const { return range_; }

  // A Pod with these host ports lives; those outside of the range are ignored. The reservation that
  // was made for it ends: from now on the Pod itself counts.
  void add_pod(const std::string& ns, std::vector<model::Port> ports);
  // It is gone or has ended.
  void remove_pod(const std::vector<model::Port>& ports);

  // Different ports, of the least used ones, by chance among equals: replicas that know the same
  // choose differently. Not those in `except`, which the Pod has already. `exhausted` when the
  // range has fewer.
  Result<std::vector<model::Port>> choose(std::size_t count, Random& random,
                                          std::vector<model::Port> except = {});

  // The ports are in an answer to a Pod of that namespace.
  void reserve(const std::string& ns, std::vector<model::Port> ports, Instant now);
  // Whether exactly these were reserved moments ago and the Pod has not been seen.
  bool is_reserved(const std::string& ns, std::vector<model::Port> ports, Instant now);
  // Forgets reservations that have run out. To be called before a choice.
  void expire(Instant now);

  // Pods and reservations that have the port: for whoever checks the choice, and metrics to come.
  std::uint32_t use_of(model::Port port) const;

 private:
  struct Key {
    std::string ns{};
    std::vector<model::Port> ports{};  // of the range, sorted, each once
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  Key key_of(const std::string& ns, std::vector<model::Port> ports) const;
  void count(model::Port port, int step);
  void put(model::Port port, std::uint32_t use);
  void swap_places(std::vector<model::Port>& level, std::size_t a, std::size_t b);
  std::size_t index_of(model::Port port) const { return std::size_t{port} - range_.first; }

  model::PortRange range_;
  std::vector<std::uint32_t> use_;                            // by index of the port
  std::vector<std::uint32_t> place_;                          // where in its level a port is
  std::map<std::uint32_t, std::vector<model::Port>> levels_;  // ports by use, in no order
  std::multimap<Key, Instant> reserved_;                      // until when
  std::deque<std::pair<Instant, Key>> by_age_;                // may name what is settled already
};

}  // namespace berth::ledger
