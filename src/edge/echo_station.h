// Says back what it hears, on many TCP and UDP ports with one thread: the rooms of a playground.
//
// Any task may open and close places; `on_talk` is called on the station's thread. The owner stops
// it by destroying it, after the places that it opened.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "model/port.h"

namespace berth::edge {

// Sockets that wait and sockets of connections together: below the 20,000 file descriptors that a
// process usually may have, beside those that a forwarder needs.
inline constexpr std::size_t kMaxEchoSockets = 8000;

class EchoStation {
 public:
  struct Options {
    model::Transport protocol = model::Transport::tcp;
    model::Target at{};
    std::string greeting{};  // each connection begins with it; datagrams are only sent back
    // Requests are answered with the greeting and what they say, instead. Of TCP alone.
    bool http = false;
    // A connection was opened, or a peer sent its first datagram.
    std::function<void(const std::string& peer)> on_talk{};
  };
  // An open port: destroying it closes the port and its connections before it returns.
  class Place {
   public:
    virtual ~Place() = default;
  };

  static Result<std::unique_ptr<EchoStation>> start(std::size_t max_sockets = kMaxEchoSockets);
  ~EchoStation();

  // `conflict`: the port is taken. `exhausted`: too many sockets are open.
  Result<std::unique_ptr<Place>> open(Options options);
  std::size_t sockets() const;

 private:
  class Impl;
  explicit EchoStation(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::edge
