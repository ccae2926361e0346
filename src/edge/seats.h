// How many connections or sessions one listener, and one client address, may have at one time, so
// that nobody takes what all the others need. TCP and UDP are counted apart: with a forged address
// anybody can begin sessions of UDP in another's name.
//
// Thread-safe: the last connection of a client may end on any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <expected>
#include <map>
#include <utility>

#include "base/mutex.h"
#include "edge/socket.h"

namespace berth::edge {

// Which bound is in the way.
enum class Bound : std::uint8_t { listener, client };

struct SeatBounds {
  std::size_t per_listener = 0;
  std::size_t per_client = 0;
};

// A quarter of all for one listener: those who meet in one room, however many they are, leave most
// for the others. An eighth for one client address: that is thousands of players behind one NAT
// where the process may open as many files as a cluster lets it, and an attacker needs many
// addresses.
// Where there are few files, a crowd in one house still gets in.
inline constexpr std::size_t kLeastPerListener = 512;
inline constexpr std::size_t kLeastPerClient = 256;
SeatBounds default_seat_bounds(std::size_t all);

// Whom a client address stands for: an IPv4 address, or the network of an IPv6 address (/64), of
// which every host has as many addresses as it likes.
IpBytes client_of(const IpBytes& ip);

// How many connections a listener has.
using SeatCount = std::atomic<std::size_t>;

class Seats;

// One connection in the counts of its listener and its client. Whoever has it keeps the listener
// alive. Moves with its owner.
class Seat {
 public:
  Seat() = default;
  Seat(Seat&& other) noexcept
      : seats_(std::exchange(other.seats_, nullptr)),
        listener_(other.listener_),
        client_(other.client_) {}
  Seat& operator=(Seat&& other) noexcept {
    std::swap(seats_, other.seats_);
    std::swap(listener_, other.listener_);
    std::swap(client_, other.client_);
    return *this;
  }
  ~Seat();

 private:
  friend class Seats;
  Seat(Seats& seats, SeatCount& listener, const IpBytes& client)
      : seats_(&seats), listener_(&listener), client_(client) {}

  Seats* seats_ = nullptr;
  SeatCount* listener_ = nullptr;
  IpBytes client_{};
};

class Seats {
 public:
  explicit Seats(const SeatBounds& bounds) : bounds_(bounds) {}

  std::expected<Seat, Bound> take(SeatCount& listener, const IpBytes& from);

 private:
  friend class Seat;
  // Threads that take seats for different clients seldom meet.
  static constexpr std::size_t kShards = 16;
  struct Shard {
    Mutex mu;
    // A tree: whoever chooses his addresses cannot make it slow.
    std::map<IpBytes, std::size_t> taken GUARDED_BY(mu);
  };

  Shard& shard_of(const IpBytes& client) { return shards_[stable_hash(client) % kShards]; }
  void give_back(const IpBytes& client);

  const SeatBounds bounds_;
  std::array<Shard, kShards> shards_{};
};

}  // namespace berth::edge
