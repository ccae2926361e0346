#include "edge/site_book.h"

#include <set>

#include "edge/haproxy/config.h"

namespace berth::edge {

SiteTally& SiteTally::operator+=(const SiteTally& other) {
  connections += other.connections;
  active += other.active;
  requests += other.requests;
  bytes_in += other.bytes_in;
  bytes_out += other.bytes_out;
  return *this;
}

void SiteBook::name(const std::string& site, const SiteKey& key) {
  const MutexLock lock(mu_);
  keys_[site] = key;
  gone_.erase(site);
}

void SiteBook::forget(const std::string& site) {
  const MutexLock lock(mu_);
  gone_.insert(site);
}

SiteKey SiteBook::key_of(const std::string& site) const {
  const auto it = keys_.find(site);
  return it == keys_.end() ? SiteKey{} : it->second;
}

std::vector<std::string> SiteBook::note(int worker, const std::vector<haproxy::Stat>& stats) {
  const MutexLock lock(mu_);
  if (worker != worker_) {
    for (auto& [site, last] : now_) {
      last.active = 0;
      before_[key_of(site)] += last;
    }
    now_.clear();
    for (const std::string& site : gone_) keys_.erase(site);
    gone_.clear();
    worker_ = worker;
  }
  std::set<std::string> changed;
  std::map<Server, bool> healthy;
  for (const haproxy::Stat& one : stats) {
    if (one.server.empty()) {
      if (keys_.contains(one.proxy))
        now_[one.proxy] = {one.connections, one.active, one.requests, one.bytes_in, one.bytes_out};
      continue;
    }
    // Of what a new worker has not asked yet, the last word counts.
    const auto was = healthy_.find({one.proxy, one.server});
    if (!one.judged && was == healthy_.end()) continue;
    const bool is = one.judged ? one.up : was->second;
    healthy[{one.proxy, one.server}] = is;
    if (was == healthy_.end() || was->second != is) changed.insert(one.proxy);
  }
  for (const auto& [server, was] : healthy_)
    if (!healthy.contains(server)) changed.insert(server.first);
  healthy_ = std::move(healthy);
  return {changed.begin(), changed.end()};
}

lb::Health SiteBook::health(const std::string& route, const model::Target& target) const {
  const MutexLock lock(mu_);
  const auto it = healthy_.find({route, haproxy::server_name(target)});
  if (it == healthy_.end()) return lb::Health::unknown;
  return it->second ? lb::Health::healthy : lb::Health::unhealthy;
}

SiteTallies SiteBook::sums() const {
  const MutexLock lock(mu_);
  SiteTallies out = before_;
  for (const auto& [site, tally] : now_) out[key_of(site)] += tally;
  return out;
}

std::uint64_t SiteBook::active() const {
  std::uint64_t out = 0;
  for (const auto& [key, tally] : sums()) out += tally.active;
  return out;
}

}  // namespace berth::edge
