// The cloud's clock, as far as it differs from ours: signatures that are five minutes off are
// refused. `parse_http_date` is pure; ServerClock is thread-safe.
#pragma once

#include <atomic>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace berth::cloud::tencent {

// "Wed, 18 Nov 2026 02:20:33 GMT"; nothing for any other form.
std::optional<WallTime> parse_http_date(std::string_view text);

class ServerClock {
 public:
  // Of ours.
  std::chrono::seconds ahead() const { return std::chrono::seconds{ahead_.load()}; }
  // From the Date header of an answer to what was signed `signed_ahead` of our clock. False: it was
  // signed by what is known now, so that signing again would not help.
  bool correct(std::string_view date, WallTime ours, std::chrono::seconds signed_ahead);

 private:
  std::atomic<std::int64_t> ahead_{0};  // seconds
};

}  // namespace berth::cloud::tencent
