// Load balancers: how users refer to them, and what is known about one. Plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/strong_id.h"
#include "model/provider.h"

namespace berth::model {

// One load balancer of one provider. Two spellings of the same one ("lb-1" with a default region,
// "ap-nanjing:lb-1") are equal.
struct LoadBalancerRef {
  Provider provider = Provider::edge;
  std::string region{};   // empty where the provider has none; "global" is one of Google's
  std::string id{};       // "lb-1", an ARN, "demo"
  std::string account{};  // only where ids are not unique without it: the project, at Google
  std::string address{};  // only of a gateway (NAT): the public address whose ports are meant

  friend auto operator<=>(const LoadBalancerRef&, const LoadBalancerRef&) = default;
};

// "lb-1", "nat-1@1.2.3.4": what LoadBalancer objects have as the id.
std::string id_text(const LoadBalancerRef& ref);
// One with the id, and the address, that such a text has.
LoadBalancerRef with_id_text(LoadBalancerRef ref, std::string_view text);

// What has the quota and takes the writes: of an address, its gateway.
LoadBalancerRef parent(LoadBalancerRef ref);

// Whose credentials a provider is called with: the namespace that has them, or nobody's in
// particular, which is the process's own.
using CredentialId = StrongId<struct CredentialTag>;

// What a reference means that does not say it: bare ids and ids without a region. For texts that
// users write and nothing else: what was granted names its load balancer in full.
struct LoadBalancerDefaults {
  Provider provider = Provider::edge;
  std::string region{};
  std::string account{};
};

// `lb-1`, `ap-nanjing:lb-1`, an ARN, `edge:demo`, `projects/p/regions/r/addresses/n`, and of a
// gateway's address `nat-1@1.2.3.4`.
Result<LoadBalancerRef> parse_load_balancer(std::string_view text,
                                            const LoadBalancerDefaults& defaults);

// Whether the text means this load balancer under some defaults.
bool may_mean(std::string_view text, const LoadBalancerRef& ref);

// "ap-nanjing:lb-1", "edge:demo": for people, logs and metrics.
std::string to_string(const LoadBalancerRef& ref);

// "tencent//ap-nanjing/lb-1": provider, account, region and id, whatever the defaults are. What is
// stored on objects. The account is empty where ids are unique without it; an address follows the
// id: "tencent//ap-nanjing/nat-1@1.2.3.4".
std::string canonical(const LoadBalancerRef& ref);
// Nothing for a text that is not of that form.
std::optional<LoadBalancerRef> parse_canonical(std::string_view text);

// The name of the LoadBalancer object that stands for it: unique, and fit for Kubernetes.
std::string object_name(const LoadBalancerRef& ref);
// How names of Listeners begin, as upstream has it: the id, or region and name of an ARN.
std::string listener_base_name(const LoadBalancerRef& ref);

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
