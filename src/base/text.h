// What is done with a user's text everywhere. ASCII alone, whatever the locale.
#pragma once

#include <string_view>

namespace berth {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Without blanks, tabs and line ends at both ends.
constexpr std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace berth
