#include "wire/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace berth::wire {
namespace {

constexpr std::array<std::string_view, 11> kTrue = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                    "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> kFalse = {"n",     "N",     "no",  "No",  "NO", "false",
                                                     "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> kNull = {"", "~", "null", "Null", "NULL"};

bool contains(const auto& words, std::string_view text) {
  return std::ranges::find(words, text) != words.end();
}

template <class Number, class... Format>
std::optional<Number> whole_number(std::string_view text, Format... format) {
  Number number{};
  const auto [stop, error] = std::from_chars(text.begin(), text.end(), number, format...);
  if (error != std::errc{} || stop != text.end()) return std::nullopt;
  return number;
}

int base_of(std::string_view& digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  const char mark = static_cast<char>(digits[1] | 0x20);
  const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
  digits.remove_prefix(base == 0 ? 1 : 2);
  return base == 0 ? 8 : base;
}

std::optional<Value> integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const int base = base_of(text);
  if (text.starts_with('-')) return std::nullopt;
  const auto size = whole_number<std::uint64_t>(text, base);
  if (!size) return std::nullopt;
  constexpr std::uint64_t kMin = std::uint64_t{1} << 63;
  if (!negative) return *size < kMin ? Value(static_cast<std::int64_t>(*size)) : Value(*size);
  if (*size > kMin) return std::nullopt;
  return Value(static_cast<std::int64_t>(0 - *size));
}

std::optional<Value> floating(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  // from_chars would take another sign, "inf" and "nan" as well.
  if (text.empty() || (!is_digit(text[0]) && text[0] != '.')) return std::nullopt;
  const auto number = whole_number<double>(text);
  if (!number) return std::nullopt;
  return Value(negative ? -*number : *number);
}

}  // namespace

Value resolve_plain_scalar(std::string_view text) {
  if (contains(kNull, text)) return nullptr;
  if (contains(kTrue, text)) return true;
  if (contains(kFalse, text)) return false;
  const char first = text.front();
  if (!is_digit(first) && first != '+' && first != '-' && first != '.') return Value(text);
  std::string plain(text);
  if (first != '.') std::erase(plain, '_');
  if (auto number = integer(plain)) return *std::move(number);
  if (auto number = floating(plain)) return *std::move(number);
  return Value(text);
}

}  // namespace berth::wire
