#include "edge/haproxy/words.h"

#include <algorithm>
#include <array>

namespace berth::edge::haproxy {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_one_of(char c, std::string_view signs) { return signs.find(c) != std::string_view::npos; }

}  // namespace

std::string word(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_plain(c) || is_one_of(c, "/._-"))
      out += c;
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

Result<> check_domain(std::string_view domain) {
  std::string_view rest = domain;
  if (rest.starts_with("*."))
    rest.remove_prefix(2);
  else if (rest.ends_with(".*"))
    rest.remove_suffix(2);
  const bool good =
      domain.empty() ||
      (domain.size() <= kMaxDomain && !rest.empty() && is_plain(rest.front()) &&
       is_plain(rest.back()) &&
       std::ranges::all_of(rest, [](char c) { return is_plain(c) || is_one_of(c, "._-"); }));
  if (good) return {};
  return fail(error_of(Code::invalid, "'{}' is no domain", domain)
                  .with_hint("letters, digits, dots and dashes, with *. before or .* after it for "
                             "all names there"));
}

Result<> check_path(std::string_view path) {
  const bool good =
      path.empty() || (path.size() <= kMaxPath && path.front() == '/' &&
                       std::ranges::all_of(path, [](char c) { return c > ' ' && c < '\x7f'; }));
  if (good) return {};
  return fail(
      error_of(Code::invalid, "'{}' is no path", path)
          .with_hint("it begins with / and has no spaces; all that begins with it is meant"));
}

Result<> check_method(std::string_view method) {
  static constexpr std::array<std::string_view, 4> kMethods{"GET", "HEAD", "OPTIONS", "POST"};
  if (method.empty() || std::ranges::count(kMethods, method) > 0) return {};
  return fail(Code::invalid, "'{}' is no method of a health check: GET, HEAD, OPTIONS, POST",
              method);
}

}  // namespace berth::edge::haproxy
