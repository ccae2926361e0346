// Balancer chooses the target of a new connection: pure, with the time as a parameter. Owned by a
// listener, whose lock its callers hold.
//
// A target with weight 0 is drained and never chosen. Unhealthy targets are not chosen while a
// healthy one is left; when none is, all of them are: a broken health check must not take a
// service down that still works.
#pragma once

#include <list>
#include <span>
#include <unordered_map>

#include "base/time.h"
#include "edge/backend.h"

namespace berth::edge {

// Client addresses of one listener whose target is remembered; past it the one that was away for
// longest is forgotten.
inline constexpr std::size_t kMaxStickyClients = 65'536;

class Balancer {
 public:
  // `sticky`: how long a client address stays with its target after its last connection; 0 not at
  // all.
  void set_rules(model::Scheduler scheduler, Duration sticky,
                 std::size_t max_sticky_clients = kMaxStickyClients);
  // Those that stay keep their turn. Called also when a weight has changed.
  void set_backends(const std::vector<BackendPtr>& backends);

  // Nothing when no target may be chosen. None of those that were `tried` for this connection and
  // failed; a client that was to stay with one of them stays with the next choice.
  BackendPtr choose(const IpBytes& client, Instant now, std::span<const BackendPtr> tried = {});

  std::size_t sticky_clients() const { return sticky_.size(); }

 private:
  struct Entry {
    BackendPtr backend;
    std::int64_t turn = 0;  // of the smooth round robin
    bool usable = false;    // in the choice that is being made
    bool healthy = false;   // the same
  };
  struct Sticky {
    BackendPtr backend;
    Instant last{};
    std::list<IpBytes>::iterator age;
  };
  struct HashIp {
    std::size_t operator()(const IpBytes& ip) const { return stable_hash(ip); }
  };

  bool mark_usable(std::span<const BackendPtr> tried);
  void keep_least_used();
  BackendPtr next_in_turn();
  BackendPtr by_client(const IpBytes& client);
  BackendPtr remembered(const IpBytes& client, Instant now);
  void remember(const IpBytes& client, const BackendPtr& backend, Instant now);
  void forget_client(const IpBytes& client);

  model::Scheduler scheduler_ = model::Scheduler::weighted_round_robin;
  Duration sticky_span_{0};
  std::size_t max_sticky_clients_ = kMaxStickyClients;
  std::vector<Entry> entries_;
  std::int64_t weights_ = 0;  // of all entries, when they were set
  std::unordered_map<IpBytes, Sticky, HashIp> sticky_;
  std::list<IpBytes> ages_;  // longest away first
};

}  // namespace berth::edge
