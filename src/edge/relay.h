// One proxied connection: copies bytes both ways until both sides have ended.
//
// A side that ended its half is passed on as a half-close; a reset as a reset. Reading stops while
// the other side cannot take more, so a slow reader holds back its own peer and nobody else. Lives
// on the event loop; not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "edge/event_loop.h"
#include "model/port.h"

namespace berth::edge {

class Relay {
 public:
  // `on_end` is called once, from the loop, when both sides are done: the relay may be destroyed
  // then.
  Relay(EventLoop& loop, Fd client, Fd target, model::Target target_address,
        std::function<void()> on_end);
  ~Relay();

  bool begin();
  const model::Target& target() const { return target_address_; }
  // Ends both sides with a reset.
  void abort();

 private:
  struct Side {
    Fd fd;
    std::string outgoing{};  // read from the other side, not yet taken by this one
    bool connecting = false;
    bool read_ended = false;   // it will send no more
    bool write_ended = false;  // we told it that no more will come
  };

  void on_events(Side& side, Side& other, std::uint32_t events);
  // False: the connection broke.
  bool read_from(Side& side, Side& other);
  bool write_to(Side& side);
  void pass_end_on(const Side& side, Side& other);
  void update_interest();
  std::uint32_t interest_of(const Side& side, const Side& other) const;
  bool finished() const;
  void end();

  EventLoop& loop_;
  Side client_;
  Side target_;
  const model::Target target_address_;
  std::function<void()> on_end_;
  bool watching_ = false;
};

}  // namespace berth::edge
