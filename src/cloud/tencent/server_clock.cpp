#include "cloud/tencent/server_clock.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace berth::cloud::tencent {
namespace {

constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
// Less is the way of the answer.
constexpr std::int64_t kNoise = 2;

}  // namespace

std::optional<WallTime> parse_http_date(std::string_view text) {
  // "Wed, 18 Nov 2026 02:20:33 GMT" is as RFC 3339 in another order.
  constexpr std::size_t kLength = 29;
  if (text.size() != kLength || !text.ends_with(" GMT") || text.substr(3, 2) != ", ")
    return std::nullopt;
  const auto month = std::ranges::find(kMonths, text.substr(8, 3));
  if (month == kMonths.end()) return std::nullopt;
  const Result<WallTime> at =
      parse_rfc3339(fmt::format("{}-{:02}-{}T{}Z", text.substr(12, 4), month - kMonths.begin() + 1,
                                text.substr(5, 2), text.substr(17, 8)));
  if (!at) return std::nullopt;
  return *at;
}

bool ServerClock::correct(std::string_view date, WallTime ours, std::chrono::seconds signed_ahead) {
  if (const std::optional<WallTime> theirs = parse_http_date(date)) {
    const std::int64_t ahead = std::chrono::floor<std::chrono::seconds>(*theirs - ours).count();
    if (std::abs(ahead - ahead_.load()) > kNoise) ahead_.store(ahead);
  }
  // Another call may have corrected it meanwhile.
  return ahead() != signed_ahead;
}

}  // namespace berth::cloud::tencent
