#include "api/dns_names.h"

#include <algorithm>

namespace berth::api {
namespace {

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_part(std::string_view text) {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '-'; });
}

}  // namespace

bool is_dns_label(std::string_view text) { return text.size() <= kMaxDnsLabel && is_part(text); }

bool is_dns_subdomain(std::string_view text) {
  if (text.size() > kMaxDnsSubdomain) return false;
  for (;;) {
    const std::size_t dot = text.find('.');
    if (!is_part(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_dns_subdomain_prefix(std::string_view text) {
  while (text.ends_with('-')) text.remove_suffix(1);
  return is_dns_subdomain(text);
}

}  // namespace berth::api
