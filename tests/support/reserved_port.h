#pragma once

// A TCP port on 127.0.0.1 that nobody else gets while the object lives. The socket stays bound but
// never listens; a server that sets SO_REUSEPORT and runs as the same user can still take the port.
// That leaves no gap between "found a free port" and "the server bound it".
//
// Owner: whoever holds the object. Threads: immutable after take(), so any.

#include <cstdint>
#include <expected>
#include <string>

#include "support/subprocess.h"

namespace berth::testing {

class ReservedPort {
 public:
  static std::expected<ReservedPort, std::string> take();

  [[nodiscard]] std::uint16_t number() const { return number_; }
  // Whether somebody accepts connections on it now.
  [[nodiscard]] bool answers() const;

 private:
  ReservedPort(Fd socket, std::uint16_t number) : socket_(std::move(socket)), number_(number) {}

  Fd socket_;
  std::uint16_t number_;
};

}  // namespace berth::testing
