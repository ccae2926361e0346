// What a room that speaks HTTP says: its name, and the request as it came. For playgrounds and
// tests; just enough of HTTP/1.1 for load balancers and people. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::edge {

// A request with its body; past it the answer is an error, and the connection ends.
inline constexpr std::size_t kMaxEchoRequest = 1u << 20;

struct EchoAnswer {
  std::string text{};  // head and body
  bool last = false;   // the connection ends after it
};

// Takes the first whole request off what was heard so far. Nothing: more of it must come.
std::optional<EchoAnswer> take_request(std::string& heard, std::string_view greeting);

}  // namespace berth::edge
