#include "api/go_duration.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>

#include "base/text.h"

namespace berth::api {
namespace {

using Unsigned = std::uint64_t;

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};

// Of two that begin alike, the longer one stands first.
constexpr std::array<Unit, 8> kUnits{{{"ns", 1},
                                      {"us", 1'000},
                                      {"\u00b5s", 1'000},  // micro sign
                                      {"\u03bcs", 1'000},  // Greek letter mu
                                      {"ms", 1'000'000},
                                      {"s", 1'000'000'000},
                                      {"m", 60'000'000'000},
                                      {"h", 3'600'000'000'000}}};
constexpr Unsigned kMost = static_cast<Unsigned>(std::numeric_limits<std::int64_t>::max());

std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

const Unit* take_unit(std::string_view& text) {
  for (const Unit& unit : kUnits) {
    if (!text.starts_with(unit.name)) continue;
    text.remove_prefix(unit.name.size());
    return &unit;
  }
  return nullptr;
}

std::optional<Unsigned> whole(std::string_view digits) {
  Unsigned n = 0;
  for (const char c : digits) {
    const auto digit = static_cast<Unsigned>(c - '0');
    if (n > (kMost - digit) / 10) return std::nullopt;
    n = n * 10 + digit;
  }
  return n;
}

// What stands behind the point, in nanoseconds. Digits below a nanosecond change nothing.
Unsigned part(std::string_view digits, std::int64_t unit) {
  double value = 0;
  double scale = 1;
  for (const char c : digits.substr(0, 18)) {
    value = value * 10 + (c - '0');
    scale *= 10;
  }
  return static_cast<Unsigned>(value * (static_cast<double>(unit) / scale));
}

// Reads "1.5h" and the like from the front. None: it is not one, or too large.
std::optional<Unsigned> take_term(std::string_view& text) {
  const std::string_view before = take_digits(text);
  std::string_view behind;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    behind = take_digits(text);
  }
  if (before.empty() && behind.empty()) return std::nullopt;
  const Unit* unit = take_unit(text);
  const std::optional<Unsigned> number = whole(before);
  if (!unit || !number) return std::nullopt;
  const auto size = static_cast<Unsigned>(unit->nanoseconds);
  if (*number > kMost / size) return std::nullopt;
  const Unsigned sum = *number * size + part(behind, unit->nanoseconds);
  return sum > kMost ? std::nullopt : std::optional(sum);
}

}  // namespace

Result<Duration> parse_go_duration(std::string_view text) {
  const auto bad = [text] {
    return fail(error_of(Code::invalid, "'{}' is no duration", text)
                    .with_hint("write numbers with units (ns, us, ms, s, m, h), for example 5m or "
                               "2h45m"));
  };
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return Duration::zero();
  if (rest.empty()) return bad();
  Unsigned sum = 0;
  while (!rest.empty()) {
    const std::optional<Unsigned> term = take_term(rest);
    if (!term || *term > kMost - sum) return bad();
    sum += *term;
  }
  const auto length = Duration(static_cast<std::int64_t>(sum));
  return negative ? -length : length;
}

std::string format_go_duration(Duration span) {
  const auto all = std::chrono::duration_cast<std::chrono::seconds>(span).count();
  std::string out;
  for (const auto& [size, unit] : {std::pair{3600, 'h'}, std::pair{60, 'm'}, std::pair{1, 's'}}) {
    const auto count = size == 3600 ? all / size : all / size % 60;
    if (count != 0) out += fmt::format("{}{}", count, unit);
  }
  return out.empty() ? "0s" : out;
}

}  // namespace berth::api
