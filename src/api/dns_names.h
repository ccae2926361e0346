// Which texts can be names of namespaces and Pods. Pure functions.
#pragma once

#include <string_view>

namespace berth::api {

inline constexpr std::size_t kMaxDnsLabel = 63;
inline constexpr std::size_t kMaxDnsSubdomain = 253;

// Of a namespace: lower-case letters, digits and '-', with a letter or digit at both ends.
bool is_dns_label(std::string_view text);
// Of a Pod: such labels, of any length, with dots between them.
bool is_dns_subdomain(std::string_view text);
// The beginning of one: it may end with '-', because more follows.
bool is_dns_subdomain_prefix(std::string_view text);

}  // namespace berth::api
