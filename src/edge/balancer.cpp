#include "edge/balancer.h"

#include <algorithm>
#include <cmath>

namespace berth::edge {
namespace {

std::uint32_t weight_of(const Backend& backend) {
  return backend.weight.load(std::memory_order_relaxed);
}

bool may_start(const Backend& backend) {
  return weight_of(backend) > 0 && !backend.removed.load(std::memory_order_relaxed);
}

bool is_among(std::span<const BackendPtr> backends, const Backend& one) {
  return std::ranges::any_of(backends,
                             [&](const BackendPtr& backend) { return backend.get() == &one; });
}

// Spreads the bits of a hash, so that close inputs lie far apart.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

void Balancer::set_rules(model::Scheduler scheduler, Duration sticky,
                         std::size_t max_sticky_clients) {
  scheduler_ = scheduler;
  sticky_span_ = sticky;
  max_sticky_clients_ = max_sticky_clients;
  if (sticky_span_ > Duration{0}) return;
  sticky_.clear();
  ages_.clear();
}

void Balancer::set_backends(const std::vector<BackendPtr>& backends) {
  // What one has gained is measured in weights: when these change, it changes with them.
  const std::int64_t before = std::max<std::int64_t>(weights_, 1);
  weights_ = 0;
  for (const BackendPtr& backend : backends) weights_ += weight_of(*backend);
  std::vector<Entry> next;
  for (const BackendPtr& backend : backends) {
    const auto old = std::ranges::find(entries_, backend, &Entry::backend);
    next.push_back({backend, old == entries_.end() ? 0 : old->turn * weights_ / before});
  }
  entries_ = std::move(next);
}

BackendPtr Balancer::choose(const IpBytes& client, Instant now, std::span<const BackendPtr> tried) {
  if (BackendPtr known = remembered(client, now); known && !is_among(tried, *known)) {
    remember(client, known, now);
    return known;
  }
  if (!mark_usable(tried)) return nullptr;
  if (scheduler_ == model::Scheduler::least_connections) keep_least_used();
  BackendPtr chosen =
      scheduler_ == model::Scheduler::source_ip ? by_client(client) : next_in_turn();
  if (sticky_span_ > Duration{0}) remember(client, chosen, now);
  return chosen;
}

bool Balancer::mark_usable(std::span<const BackendPtr> tried) {
  bool any_healthy = false;
  bool any = false;
  for (Entry& entry : entries_) {
    entry.usable = may_start(*entry.backend) && !is_among(tried, *entry.backend);
    // Read once: the health checker, which takes no lock, may change it between two looks.
    entry.healthy = entry.backend->healthy.load(std::memory_order_relaxed);
    any = any || entry.usable;
    any_healthy = any_healthy || (entry.usable && entry.healthy);
  }
  if (!any_healthy) return any;
  for (Entry& entry : entries_) entry.usable = entry.usable && entry.healthy;
  return true;
}

// Of the usable ones only those stay that have the fewest connections for their weight; who of
// equals comes next is then decided by turns.
void Balancer::keep_least_used() {
  const auto load = [](const Entry& entry) {
    return static_cast<double>(entry.backend->active.load(std::memory_order_relaxed)) /
           std::max(1u, weight_of(*entry.backend));
  };
  double least = INFINITY;
  for (const Entry& entry : entries_)
    if (entry.usable) least = std::min(least, load(entry));
  for (Entry& entry : entries_) entry.usable = entry.usable && load(entry) <= least;
}

// Smooth weighted round robin: everyone gains its weight, the richest is chosen and pays the sum.
// Over a cycle each is chosen by its weight, and the choices of a heavy one lie apart.
BackendPtr Balancer::next_in_turn() {
  std::int64_t sum = 0;
  Entry* best = nullptr;
  for (Entry& entry : entries_) {
    if (!entry.usable) continue;
    const std::int64_t weight = weight_of(*entry.backend);
    entry.turn += weight;
    sum += weight;
    if (best == nullptr || entry.turn > best->turn) best = &entry;
  }
  if (best == nullptr) return nullptr;  // its only one was drained meanwhile
  best->turn -= sum;
  return best->backend;
}

// Weighted rendezvous hashing: a client moves only when its target goes or a new one wins it, and
// all processes choose alike.
BackendPtr Balancer::by_client(const IpBytes& client) {
  const std::uint64_t hash = stable_hash(client);
  double best_score = -1;
  BackendPtr best;
  for (const Entry& entry : entries_) {
    if (!entry.usable) continue;
    // In (0, 1).
    const double unit =
        (static_cast<double>(mix(hash ^ mix(entry.backend->hash)) >> 11) + 0.5) * 0x1p-53;
    const double score = weight_of(*entry.backend) / -std::log(unit);
    if (score <= best_score) continue;
    best_score = score;
    best = entry.backend;
  }
  return best;
}

BackendPtr Balancer::remembered(const IpBytes& client, Instant now) {
  while (!ages_.empty() && sticky_.at(ages_.front()).last + sticky_span_ < now)
    forget_client(IpBytes(ages_.front()));
  const auto it = sticky_.find(client);
  if (it == sticky_.end()) return nullptr;
  const Backend& backend = *it->second.backend;
  if (may_start(backend) && backend.healthy.load(std::memory_order_relaxed))
    return it->second.backend;
  forget_client(client);
  return nullptr;
}

void Balancer::remember(const IpBytes& client, const BackendPtr& backend, Instant now) {
  if (!backend) return;
  const auto [it, added] = sticky_.try_emplace(client);
  if (added) {
    it->second.age = ages_.insert(ages_.end(), client);
  } else {
    ages_.splice(ages_.end(), ages_, it->second.age);
  }
  it->second.backend = backend;
  it->second.last = now;
  if (sticky_.size() > max_sticky_clients_) forget_client(IpBytes(ages_.front()));
}

void Balancer::forget_client(const IpBytes& client) {
  const auto it = sticky_.find(client);
  if (it == sticky_.end()) return;
  ages_.erase(it->second.age);
  sticky_.erase(it);
}

}  // namespace berth::edge
