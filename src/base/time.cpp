#include "base/time.h"

#include <charconv>

namespace berth {
namespace {

using std::chrono::floor;

struct Fields {
  std::chrono::year_month_day date;
  std::chrono::hh_mm_ss<std::chrono::nanoseconds> clock;
};

Fields split(WallTime at) {
  const auto day = floor<std::chrono::days>(at);
  return {std::chrono::year_month_day{day},
          std::chrono::hh_mm_ss<std::chrono::nanoseconds>{at - day}};
}

std::string format_with(WallTime at, bool micro) {
  const Fields f = split(at);
  std::string out =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", int(f.date.year()),
                  unsigned(f.date.month()), unsigned(f.date.day()), f.clock.hours().count(),
                  f.clock.minutes().count(), f.clock.seconds().count());
  if (micro) out += fmt::format(".{:06}", f.clock.subseconds().count() / 1000);
  return out + "Z";
}

// Reads digits and separators of a time from the front of a text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool number(std::size_t digits, int& out) {
    if (rest_.size() < digits) return false;
    const char* end = rest_.data() + digits;
    const auto [stop, error] = std::from_chars(rest_.data(), end, out);
    if (error != std::errc{} || stop != end || rest_.front() == '-') return false;
    rest_.remove_prefix(digits);
    return true;
  }
  bool literal(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Up to nine digits as nanoseconds; more are refused.
  bool fraction(long& nanos) {
    long scale = 100'000'000;
    std::size_t used = 0;
    while (used < rest_.size() && rest_[used] >= '0' && rest_[used] <= '9') {
      if (used == 9) return false;
      nanos += (rest_[used] - '0') * scale;
      scale /= 10;
      ++used;
    }
    rest_.remove_prefix(used);
    return used > 0;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

bool parse_offset(Cursor& in, std::chrono::minutes& offset) {
  if (in.literal('Z') || in.literal('z')) return true;
  const bool minus = in.literal('-');
  if (!minus && !in.literal('+')) return false;
  int hours = 0;
  int minutes = 0;
  if (!in.number(2, hours) || !in.literal(':') || !in.number(2, minutes)) return false;
  if (hours > 23 || minutes > 59) return false;
  offset = std::chrono::minutes{hours * 60 + minutes} * (minus ? -1 : 1);
  return true;
}

}  // namespace

Instant saturating_add(Instant at, Duration span) {
  if (span > Duration::zero() && at > kNever - span) return kNever;
  return at + span;
}

std::string format_rfc3339(WallTime at) { return format_with(at, false); }
std::string format_rfc3339_micro(WallTime at) { return format_with(at, true); }

Result<WallTime> parse_rfc3339(std::string_view text) {
  const auto bad = [&] { return fail(Code::invalid, "'{}' is not an RFC 3339 time", text); };
  Cursor in(text);
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  long nanos = 0;
  std::chrono::minutes offset{0};
  if (!in.number(4, year) || !in.literal('-') || !in.number(2, month) || !in.literal('-') ||
      !in.number(2, day))
    return bad();
  if (!in.literal('T') && !in.literal('t')) return bad();
  if (!in.number(2, hour) || !in.literal(':') || !in.number(2, minute) || !in.literal(':') ||
      !in.number(2, second))
    return bad();
  if (in.literal('.') && !in.fraction(nanos)) return bad();
  if (!parse_offset(in, offset) || !in.at_end()) return bad();

  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{unsigned(month)},
                                         std::chrono::day{unsigned(day)}};
  // Nanoseconds since 1970 fit 64 bits only between 1678 and 2262.
  if (!date.ok() || year < 1678 || year > 2261 || hour > 23 || minute > 59 || second > 60)
    return bad();
  return WallTime{std::chrono::sys_days{date}} + std::chrono::hours{hour} +
         std::chrono::minutes{minute} + std::chrono::seconds{second} +
         std::chrono::nanoseconds{nanos} - offset;
}

}  // namespace berth
