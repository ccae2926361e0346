// One listener as the data plane has it: whom it forwards to, and what it has counted. Shared by
// the driver that changes it and the workers that carry its traffic. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>

#include "base/mutex.h"
#include "edge/balancer.h"
#include "edge/seats.h"
#include "edge/tally.h"

namespace berth::edge {

using CountedByReason = std::array<std::atomic<std::uint64_t>, kReasons.size()>;

// Relaxed: each number is right by itself, two of them may be of slightly different times.
struct ListenerCounters {
  std::atomic<std::uint64_t> connections{0};   // TCP connections and UDP sessions that began
  std::atomic<std::uint64_t> active{0};        // of them, those that go on
  std::atomic<std::uint64_t> bytes_in{0};      // from clients, handed to targets
  std::atomic<std::uint64_t> bytes_out{0};     // from targets, handed to clients
  std::atomic<std::uint64_t> datagrams_in{0};  // the same in datagrams
  std::atomic<std::uint64_t> datagrams_out{0};
  CountedByReason refused_by{};                    // not taken
  CountedByReason displaced_by{};                  // UDP sessions that made room for others
  std::atomic<std::uint64_t> connect_failures{0};  // TCP targets that a client was to go to
  std::atomic<std::uint64_t> dropped{0};           // datagrams that the next socket did not take

  Tally read() const;
};

inline void count(std::atomic<std::uint64_t>& counter, std::uint64_t by = 1) {
  counter.fetch_add(by, std::memory_order_relaxed);
}

inline void count(CountedByReason& counters, Reason reason) {
  count(counters[static_cast<std::size_t>(reason)]);
}

class Listener {
 public:
  struct Options {
    std::string id{};
    model::Transport protocol = model::Transport::tcp;
    std::size_t workers = 1;
    Duration second = std::chrono::seconds{1};  // how long a second of `session_seconds` is
    // Hears what it has carried in all, when nobody uses it any more; on any thread.
    std::function<void(const Tally&)> on_end{};
  };
  explicit Listener(Options options) : options_(std::move(options)) {}
  ~Listener();

  const std::string& id() const { return options_.id; }
  model::Transport protocol() const { return options_.protocol; }

  void set_attributes(const model::RuleAttributes& attributes);
  // New connections go to these from now on. Gives the backends that went: whoever carries
  // their connections ends them. `invalid`: an address is not one.
  Result<std::vector<BackendPtr>> set_targets(const std::vector<model::WeightedTarget>& targets);

  // Empty when there is no target to choose, beside those that were `tried`.
  BackendLease choose(const IpBytes& client, Instant now, std::span<const BackendPtr> tried = {});
  std::vector<BackendPtr> backends() const;

  ListenerCounters counters{};
  SeatCount seats{0};

 private:
  const Options options_;
  mutable Mutex mu_;
  Balancer balancer_ GUARDED_BY(mu_);
  std::map<model::Target, BackendPtr> backends_ GUARDED_BY(mu_);
};

using ListenerPtr = std::shared_ptr<Listener>;

}  // namespace berth::edge
