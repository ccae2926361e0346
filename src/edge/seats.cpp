#include "edge/seats.h"

#include <algorithm>

namespace berth::edge {

SeatBounds default_seat_bounds(std::size_t all) {
  return {.per_listener = std::max(all / 4, kLeastPerListener),
          .per_client = std::max(all / 8, kLeastPerClient)};
}

IpBytes client_of(const IpBytes& ip) {
  if (is_ipv4(ip)) return ip;
  IpBytes network{};
  std::copy_n(ip.begin(), 8, network.begin());
  return network;
}

Seat::~Seat() {
  if (seats_ == nullptr) return;
  listener_->fetch_sub(1, std::memory_order_relaxed);
  seats_->give_back(client_);
}

std::expected<Seat, Bound> Seats::take(SeatCount& listener, const IpBytes& from) {
  const IpBytes client = client_of(from);
  Shard& shard = shard_of(client);
  {
    const MutexLock lock(shard.mu);
    std::size_t& taken = shard.taken[client];
    if (taken >= bounds_.per_client) {
      if (taken == 0) shard.taken.erase(client);
      return std::unexpected(Bound::client);
    }
    ++taken;
  }
  Seat seat(*this, listener, client);
  // Counted before it is compared: of two that meet at the bound, one may be refused too early,
  // and none too late.
  if (listener.fetch_add(1, std::memory_order_relaxed) >= bounds_.per_listener)
    return std::unexpected(Bound::listener);
  return seat;
}

void Seats::give_back(const IpBytes& client) {
  Shard& shard = shard_of(client);
  const MutexLock lock(shard.mu);
  const auto it = shard.taken.find(client);
  if (--it->second == 0) shard.taken.erase(it);
}

}  // namespace berth::edge
