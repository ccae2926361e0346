#include "net/websocket.h"

#include <openssl/evp.h>

#include <array>

#include "base/encoding.h"

namespace berth::net {
namespace {

// RFC 6455, section 1.3: proves that the server read the client's key.
constexpr std::string_view kHandshakeSuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::uint8_t kFinalBinary = 0x82;
constexpr std::uint8_t kFinalClose = 0x88;
constexpr std::uint16_t kNormalClosure = 1000;
// Longer payloads carry their length in the two or eight bytes behind these marks.
constexpr std::size_t kMaxShort = 125;
constexpr std::uint8_t kTwoByteLength = 126;
constexpr std::uint8_t kEightByteLength = 127;

std::string accept_of(std::string_view key) {
  const std::string text = std::string(key).append(kHandshakeSuffix);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  return base64_encode({reinterpret_cast<const char*>(digest.data()), size});
}

// Whether a list such as "keep-alive, Upgrade" names the word.
bool names(const Headers& headers, std::string_view header, std::string_view word) {
  for (std::string_view list : headers.all(header)) {
    while (!list.empty()) {
      const std::size_t end = std::min(list.find(','), list.size());
      std::string_view item = list.substr(0, end);
      while (item.starts_with(' ')) item.remove_prefix(1);
      while (item.ends_with(' ')) item.remove_suffix(1);
      if (equals_ignoring_case(item, word)) return true;
      list.remove_prefix(std::min(end + 1, list.size()));
    }
  }
  return false;
}

void append_number(std::string& out, std::uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out += static_cast<char>((number >> shift) & 0xff);
  }
}

void append_frame(std::string& out, std::uint8_t head, std::string_view payload) {
  out += static_cast<char>(head);
  if (payload.size() <= kMaxShort) {
    append_number(out, payload.size(), 1);
  } else if (payload.size() <= 0xffff) {
    append_number(out, kTwoByteLength, 1);
    append_number(out, payload.size(), 2);
  } else {
    append_number(out, kEightByteLength, 1);
    append_number(out, payload.size(), 8);
  }
  out += payload;
}

}  // namespace

std::optional<std::string> offered_protocol(const Request& request,
                                            std::initializer_list<std::string_view> protocols) {
  const Headers& headers = request.headers;
  if (request.method != "GET" || !names(headers, "Connection", "Upgrade") ||
      !names(headers, "Upgrade", "websocket") || headers.get("Sec-WebSocket-Version") != "13" ||
      headers.get("Sec-WebSocket-Key").empty()) {
    return std::nullopt;
  }
  for (const std::string_view protocol : protocols) {
    if (names(headers, "Sec-WebSocket-Protocol", protocol)) return std::string(protocol);
  }
  return std::nullopt;
}

void append_message(std::string& out, std::string_view payload) {
  append_frame(out, kFinalBinary, payload);
}

void append_close(std::string& out) {
  std::string code;
  append_number(code, kNormalClosure, 2);
  append_frame(out, kFinalClose, code);
}

Reply websocket_reply(const Request& request, std::string protocol, std::string frames) {
  return {.status = kSwitchingProtocols,
          .headers = {{"Upgrade", "websocket"},
                      {"Sec-WebSocket-Accept", accept_of(request.headers.get("Sec-WebSocket-Key"))},
                      {"Sec-WebSocket-Protocol", std::move(protocol)}},
          .body = std::move(frames)};
}

}  // namespace berth::net
