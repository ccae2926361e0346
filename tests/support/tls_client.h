// A client of TLS for tests: what is on the other side, and who it proved to be. Blocks with a
// bound. Free of GTest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::testing {

struct TlsQuestion {
  std::string ip{};  // IPv4
  std::uint16_t port = 0;
  std::string server_name{};    // it must prove that it is this one
  std::string authority_pem{};  // and that this authority says so
  std::string text{};           // what is said; it must come back
  int timeout_ms = 20'000;
};

// All that was heard until the text was in it. `forbidden`: the server showed another certificate.
Result<std::string> ask_over_tls(const TlsQuestion& question);

}  // namespace berth::testing
