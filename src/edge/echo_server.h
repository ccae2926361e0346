// Answers every TCP connection with what it hears: the room behind a demo's port. The owner closes
// it by destroying it.
#pragma once

#include <memory>

#include "base/result.h"
#include "model/port.h"

namespace berth::edge {

class EchoServer {
 public:
  // With a greeting, each connection begins with that line.
  static Result<std::unique_ptr<EchoServer>> start(const model::Target& at,
                                                   std::string greeting = {});
  ~EchoServer();

 private:
  struct Impl;
  explicit EchoServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Connects, sends the text, ends its half, and returns everything that comes back. Blocks for at
// most the timeout.
Result<std::string> ask_over_tcp(const model::Target& to, std::string_view text, int timeout_ms);
// Sends one datagram and returns the one that comes back.
Result<std::string> ask_over_udp(const model::Target& to, std::string_view text, int timeout_ms);

}  // namespace berth::edge
