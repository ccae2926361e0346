// Load balancers: how users refer to them, and what is known about one. Plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::model {

enum class Provider : std::uint8_t { edge, tencent, aws, gcp };

std::string_view to_string(Provider provider);  // "edge"
Result<Provider> parse_provider(std::string_view text);

// One load balancer of one provider. Two spellings of the same one ("lb-1" with a default region,
// "ap-nanjing:lb-1") are equal.
struct LoadBalancerRef {
  Provider provider = Provider::edge;
  std::string region{};  // empty where the provider has none
  std::string id{};      // "lb-1", an ARN, "demo"

  friend auto operator<=>(const LoadBalancerRef&, const LoadBalancerRef&) = default;
};

// What a reference means that does not say it: bare ids and ids without a region.
struct LoadBalancerDefaults {
  Provider provider = Provider::edge;
  std::string region{};
};

// `lb-1`, `ap-nanjing:lb-1`, an ARN, `edge:demo`.
Result<LoadBalancerRef> parse_load_balancer(std::string_view text,
                                            const LoadBalancerDefaults& defaults);

// "ap-nanjing:lb-1", "edge:demo": for people, logs and metrics.
std::string to_string(const LoadBalancerRef& ref);

// "tencent//ap-nanjing/lb-1": provider, account, region and id, whatever the defaults are. What is
// stored on objects. The account is empty while ids are unique without it.
std::string canonical(const LoadBalancerRef& ref);
// Nothing for a text that is not of that form.
std::optional<LoadBalancerRef> parse_canonical(std::string_view text);

// The name of the LoadBalancer object that stands for it: unique, and fit for Kubernetes.
std::string object_name(const LoadBalancerRef& ref);
// How names of Listeners begin, as upstream has it: the id, or region and name of an ARN.
std::string listener_base_name(const LoadBalancerRef& ref);

// The longest name that a listener may have there; where listeners have none, the longest tag.
std::size_t max_listener_name(Provider provider);

// What a provider tells about a load balancer.
struct LoadBalancerInfo {
  std::string name{};
  std::vector<std::string> vips{};
  std::string dns_name{};
  std::string type{};                // "OPEN" or "INTERNAL", as Tencent has it
  std::uint32_t listener_quota = 0;  // 0: not known
  // Ports below this are reached at port + offset: an unprivileged process cannot open them.
  std::uint32_t low_port_limit = 0;
  std::uint32_t low_port_offset = 0;

  friend bool operator==(const LoadBalancerInfo&, const LoadBalancerInfo&) = default;
};

}  // namespace berth::model
