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

// At most so many bytes of it, and no half of a character.
constexpr std::string_view clipped(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

}  // namespace berth
