#include "net/http.h"

#include <algorithm>

namespace berth::net {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_token_char(char c) {
  const bool alnum = (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z');
  return alnum || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_value_char(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return c == '\t' || (byte >= 0x20 && byte != 0x7f);
}

}  // namespace

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_char);
}

bool is_valid_header(const Header& header) {
  return is_token(header.name) && std::ranges::all_of(header.value, is_value_char);
}

void Headers::add(std::string name, std::string value) {
  list_.push_back({std::move(name), std::move(value)});
}

void Headers::set(std::string name, std::string value) {
  std::erase_if(list_, [&](const Header& h) { return equals_ignoring_case(h.name, name); });
  add(std::move(name), std::move(value));
}

std::string_view Headers::get(std::string_view name) const {
  for (const auto& header : list_) {
    if (equals_ignoring_case(header.name, name)) return header.value;
  }
  return {};
}

std::vector<std::string_view> Headers::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& header : list_) {
    if (equals_ignoring_case(header.name, name)) values.emplace_back(header.value);
  }
  return values;
}

}  // namespace berth::net
