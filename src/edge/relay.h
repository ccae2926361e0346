// One proxied connection: copies bytes both ways until both sides have ended.
//
// A side that ended its half is passed on as a half-close; a reset as a reset, after what arrived
// before it. Reading stops while the other side cannot take more, so a slow reader holds back its
// own peer and nobody else. A target that cannot be reached is left for another one; until then
// what the client says waits in its socket. Bytes go through one buffer of the loop, those of long
// streams through its pipe; only what a short write leaves over is kept per connection. Lives on
// the event loop; not thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "edge/event_loop.h"
#include "edge/listener.h"
#include "edge/splice_pipe.h"

namespace berth::edge {

// What is read at one time, and so the most that waits for a slow reader.
inline constexpr std::size_t kCopyBuffer = 256u << 10;

// On a page of its own: the kernel copies into a buffer that is aligned to 16 bytes alone, as
// malloc's are, at half the speed (measured).
struct alignas(4096) CopyBuffer {
  std::array<char, kCopyBuffer> bytes;
};

// A client that waits for its target, on its seat. Holds the two file descriptors of its connection
// in the budget; whoever has it gives them back.
struct Accepted {
  ListenerPtr listener;
  model::Port nth = 0;  // of the listener's ports
  Fd client;
  IpBytes from{};
  Seat seat{};
};

// A connection to a target that is under way.
struct Attempt {
  BackendLease backend;
  Fd fd;
};

struct ConnectingList;  // names a list: relays whose target has not answered yet

class Relay final : public BackendUser, public ListHook<Relay>, public ListHook<ConnectingList> {
 public:
  class Owner {
   public:
    // The target was not reached, or went before it was. It gives the relay another one, or ends
    // it.
    virtual void on_target_lost(Relay& relay) = 0;
    // Called once, from the loop, when both sides are done. It destroys the relay.
    virtual void on_relay_ended(Relay& relay) = 0;

   protected:
    ~Owner() = default;
  };
  // What the relays of one loop share.
  struct Home {
    EventLoop& loop;
    Owner& owner;
    std::span<char> buffer;
    SplicePipe& pipe;
  };

  // `tried`: targets that were not reached before it began.
  Relay(const Home& home, Accepted accepted, std::vector<BackendPtr> tried);
  ~Relay();

  // Leaves the target that it had for this one. False: the kernel watches no more sockets.
  bool connect(Attempt attempt);
  // Ends both sides with a reset.
  void abort();
  void on_target_removed() override;

  Listener& listener() const { return *listener_; }
  const IpBytes& from() const { return from_; }
  model::Port nth() const { return nth_; }
  Instant connecting_since() const { return connecting_since_; }
  // Those before the one that it goes to now, and that one.
  std::vector<BackendPtr> all_tried() const;

 private:
  struct Side final : Watcher {
    Side(Relay& its_relay, Fd socket) : relay(its_relay), fd(std::move(socket)) {}
    void on_events(std::uint32_t events) override { relay.on_events(*this, events); }

    Relay& relay;
    Fd fd;
    std::string waiting{};  // read from the other side, not yet taken by this one
    std::size_t taken = 0;  // how much of it was
    std::size_t read_limit = kCopyBuffer;
    std::uint32_t interest = 0;
    bool watched = false;
    bool streams = false;      // says so much that its bytes go through the pipe
    bool read_ended = false;   // it will send no more
    bool write_ended = false;  // we told it that no more will come
  };

  Side& other_than(const Side& side) { return &side == &client_ ? target_ : client_; }
  bool is_connected();
  void on_events(Side& side, std::uint32_t events);
  bool move_bytes(Side& side, std::uint32_t events);
  bool may_read(Side& side) { return !side.read_ended && other_than(side).waiting.empty(); }
  // False: the relay has ended.
  bool copy_from(Side& side);
  bool splice_from(Side& side);
  bool nothing_read(Side& side, ssize_t n);
  void count_read(const Side& side, ssize_t n);
  bool flush(Side& side);
  bool send_or_keep(Side& to, std::span<const char> bytes);
  void break_off(Side& broken);
  void pass_end_on(Side& side);
  void update_interest(Side& side);
  bool finished() const;

  const Home home_;
  const ListenerPtr listener_;
  const Seat seat_;
  const IpBytes from_;
  const model::Port nth_;
  BackendLease backend_;
  std::vector<BackendPtr> tried_;  // without the one of now; empty when it has answered
  Instant connecting_since_{};
  Side client_;
  Side target_;
  bool connecting_ = true;
};

}  // namespace berth::edge
