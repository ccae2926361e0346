// A server on loopback that nobody may be led to. It counts who came.
//
// Owned by the stage; its thread ends with it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "base/fd.h"

namespace berth::adversary {

class Trap {
 public:
  Trap();
  ~Trap();

  std::uint16_t port() const { return port_; }
  int visits() const { return visits_; }

 private:
  void serve();

  Fd socket_;
  std::uint16_t port_ = 0;
  std::atomic<int> visits_ = 0;
  std::thread thread_;
};

// A connection to "address:port", or a closed one. From an address of one's own, if it is said.
Fd connect_to(const std::string& address, const std::string& from = {});
// Waits for the peer's first bytes or the end of the connection.
std::string first_words(const Fd& connection);

}  // namespace berth::adversary
