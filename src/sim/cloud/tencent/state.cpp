#include "sim/cloud/tencent/state.h"

#include <algorithm>

namespace berth::sim::tencent {
namespace {

constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::size_t kIdLength = 8;

}  // namespace

bool Rule::has_domain(std::string_view name) const {
  return std::ranges::find(domains, name) != domains.end();
}

std::string State::make_id(std::string_view prefix) {
  std::string out(prefix);
  for (std::size_t i = 0; i < kIdLength; ++i) out += kAlphabet[random.below(kAlphabet.size())];
  return out;
}

std::string State::make_request_id() {
  const std::uint64_t a = random.next();
  const std::uint64_t b = random.next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xfff,
                     0x8000 | ((b >> 48) & 0x3fff), b & 0xffff'ffff'ffff);
}

std::string State::make_vip(const LoadBalancer& lb) {
  if (lb.ip_version == "ipv6")
    return fmt::format("2001:db8:{:x}::{:x}", random.below(0x10000), 1 + random.below(0xffff));
  return fmt::format("203.0.{}.{}", random.below(256), 1 + random.below(254));
}

bool is_layer7(std::string_view protocol) { return protocol == "HTTP" || protocol == "HTTPS"; }

std::string_view transport_of(std::string_view protocol) {
  return protocol == "UDP" || protocol == "QUIC" ? "UDP" : "TCP";
}

Rule* find_rule(Listener& listener, std::string_view id) {
  const auto it = std::ranges::find(listener.rules, id, &Rule::id);
  return it == listener.rules.end() ? nullptr : &*it;
}

std::size_t target_count(const LoadBalancer& lb) {
  std::size_t count = 0;
  for (const auto& [id, listener] : lb.listeners) {
    for (const Rule& rule : listener.rules) count += rule.targets.size();
  }
  return count;
}

}  // namespace berth::sim::tencent
