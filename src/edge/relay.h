// One proxied connection: copies bytes both ways until both sides have ended.
//
// A side that ended its half is passed on as a half-close; a reset as a reset, after what arrived
// before it. Reading stops while the other side cannot take more, so a slow reader holds back its
// own peer and nobody else. Bytes go through one buffer of the loop, those of long streams through
// its pipe; only what a short write leaves over is kept per connection. Lives on the event loop;
// not thread-safe.
#pragma once

#include <span>
#include <string>

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

class Relay final : public BackendUser, public ListHook<Relay> {
 public:
  class Owner {
   public:
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

  // `target`: a socket whose connection is under way.
  Relay(const Home& home, ListenerPtr listener, BackendLease backend, Fd client, Fd target);
  ~Relay();

  // False: the kernel watches no more sockets.
  bool begin();
  // Ends both sides with a reset.
  void abort();
  void on_target_removed() override { abort(); }

 private:
  struct Side final : Watcher {
    Side(Relay& its_relay, Fd socket) : relay(its_relay), fd(std::move(socket)) {}
    void on_events(std::uint32_t events) override { relay.on_events(*this, events); }

    Relay& relay;
    const Fd fd;
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
  const BackendLease backend_;
  Side client_;
  Side target_;
  bool connecting_ = true;
};

}  // namespace berth::edge
