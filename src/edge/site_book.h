// What HAProxy counted and how it finds targets, joined over its workers: each begins to count
// anew. Thread-safe; owned by the driver.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "edge/haproxy/answers.h"
#include "lb/health.h"
#include "model/load_balancer.h"

namespace berth::edge {

// Of all sites of one load balancer and protocol.
struct SiteKey {
  model::LoadBalancerRef lb{};
  model::Protocol protocol = model::Protocol::http;
  friend auto operator<=>(const SiteKey&, const SiteKey&) = default;
};

struct SiteTally {
  std::uint64_t connections = 0;
  std::uint64_t active = 0;
  std::uint64_t requests = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;

  SiteTally& operator+=(const SiteTally& other);
};
using SiteTallies = std::map<SiteKey, SiteTally>;

class SiteBook {
 public:
  // Whose counts these are.
  void name(const std::string& site, const SiteKey& key);
  // It has gone. What it carried stays in the sums.
  void forget(const std::string& site);
  // The names of routes whose targets are found otherwise than before.
  std::vector<std::string> note(int worker, const std::vector<haproxy::Stat>& stats);

  lb::Health health(const std::string& route, const model::Target& target) const;
  // Since the start. What workers of before still carry is not counted.
  SiteTallies sums() const;
  std::uint64_t active() const;

 private:
  using Server = std::pair<std::string, std::string>;  // route and server

  SiteKey key_of(const std::string& site) const REQUIRES(mu_);

  mutable Mutex mu_;
  std::map<std::string, SiteKey> keys_ GUARDED_BY(mu_);
  std::set<std::string> gone_ GUARDED_BY(mu_);            // whose last counts are still to come
  std::map<std::string, SiteTally> now_ GUARDED_BY(mu_);  // of this worker
  SiteTallies before_ GUARDED_BY(mu_);                    // of all that were
  std::map<Server, bool> healthy_ GUARDED_BY(mu_);        // those that were judged
  int worker_ GUARDED_BY(mu_) = 0;
};

}  // namespace berth::edge
