#include "net/reply_head.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>
#include <utility>

namespace berth::net {
namespace {

struct Reason {
  int status;
  std::string_view text;
};

constexpr std::array kReasons = {
    Reason{101, "Switching Protocols"},
    Reason{200, "OK"},
    Reason{201, "Created"},
    Reason{202, "Accepted"},
    Reason{204, "No Content"},
    Reason{301, "Moved Permanently"},
    Reason{302, "Found"},
    Reason{304, "Not Modified"},
    Reason{400, "Bad Request"},
    Reason{401, "Unauthorized"},
    Reason{403, "Forbidden"},
    Reason{404, "Not Found"},
    Reason{405, "Method Not Allowed"},
    Reason{406, "Not Acceptable"},
    Reason{408, "Request Timeout"},
    Reason{409, "Conflict"},
    Reason{410, "Gone"},
    Reason{413, "Content Too Large"},
    Reason{415, "Unsupported Media Type"},
    Reason{422, "Unprocessable Content"},
    Reason{429, "Too Many Requests"},
    Reason{431, "Request Header Fields Too Large"},
    Reason{500, "Internal Server Error"},
    Reason{501, "Not Implemented"},
    Reason{503, "Service Unavailable"},
    Reason{504, "Gateway Timeout"},
    Reason{505, "HTTP Version Not Supported"},
};

std::string_view reason_of(int status) {
  const auto* const found = std::ranges::find(kReasons, status, &Reason::status);
  return found == kReasons.end() ? "Unknown" : found->text;
}

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date(WallTime at) {
  const std::time_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                     kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// Ours alone to say: a handler that sets one of them would contradict the wire.
bool is_set_by_server(std::string_view name) {
  return equals_ignoring_case(name, "Content-Length") ||
         equals_ignoring_case(name, "Transfer-Encoding") ||
         equals_ignoring_case(name, "Connection");
}

}  // namespace

Framing framing_of(const Reply& reply) {
  if (reply.status == kSwitchingProtocols) return Framing::raw;
  if (reply.status == 204 || reply.status == 304) return Framing::none;
  return reply.stream ? Framing::chunked : Framing::length;
}

std::string reply_head(const Reply& reply, Framing framing, bool keep_alive, WallTime now) {
  std::string head;
  head.reserve(256);
  fmt::format_to(std::back_inserter(head), "HTTP/1.1 {} {}\r\n", reply.status,
                 reason_of(reply.status));
  for (const auto& header : reply.headers) {
    if (is_set_by_server(header.name)) continue;
    head.append(header.name).append(": ").append(header.value).append("\r\n");
  }
  if (reply.headers.get("Date").empty())
    head.append("Date: ").append(http_date(now)).append("\r\n");
  if (framing == Framing::chunked) head.append("Transfer-Encoding: chunked\r\n");
  if (framing == Framing::length) {
    fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", reply.body.size());
  }
  if (framing == Framing::raw) {
    head.append("Connection: Upgrade\r\n");
  } else if (!keep_alive) {
    head.append("Connection: close\r\n");
  }
  head.append("\r\n");
  return head;
}

std::string chunk_of(std::string bytes) {
  bytes.insert(0, fmt::format("{:x}\r\n", bytes.size()));
  bytes.append("\r\n");
  return bytes;
}

Reply refusal(int status, std::string_view why) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
          .body = std::string(why) + "\n"};
}

}  // namespace berth::net
