#include "edge/echo_http.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace berth::edge {
namespace {

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// Of the first field of that name; empty: there is none.
std::string_view field(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;
       at = head.find("\r\n", at + 2)) {
    std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !same_word(line.substr(0, colon), name)) continue;
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ', colon + 1)));
    return line;
  }
  return {};
}

EchoAnswer answer(std::string_view status, std::string_view body, bool with_body, bool last) {
  return {fmt::format("HTTP/1.1 {}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n{}\r\n{}",
                      status, body.size(), last ? "Connection: close\r\n" : "",
                      with_body ? body : std::string_view()),
          last};
}

}  // namespace

std::optional<EchoAnswer> take_request(std::string& heard, std::string_view greeting) {
  const std::size_t end = heard.find("\r\n\r\n");
  const auto too_large = [&] {
    heard.clear();
    return answer("413 Content Too Large", "", true, true);
  };
  if (end == std::string::npos) {
    if (heard.size() > kMaxEchoRequest) return too_large();
    return std::nullopt;
  }
  const std::string head = heard.substr(0, end);
  if (!field(head, "Transfer-Encoding").empty()) {
    heard.clear();
    return answer("411 Length Required", "", true, true);
  }
  std::size_t length = 0;
  const std::string_view said = field(head, "Content-Length");
  std::from_chars(said.data(), said.data() + said.size(), length);
  if (length > kMaxEchoRequest) return too_large();
  if (heard.size() < end + 4 + length) return std::nullopt;

  std::string body = std::string(greeting) + head + "\n";
  std::erase(body, '\r');
  body.append(heard, end + 4, length);
  heard.erase(0, end + 4 + length);
  const bool last = same_word(field(head, "Connection"), "close") ||
                    head.substr(0, head.find("\r\n")).ends_with("HTTP/1.0");
  return answer("200 OK", body, !head.starts_with("HEAD "), last);
}

}  // namespace berth::edge
