#include "api/keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "crypto/digest.h"

namespace berth::api {
namespace {

// Upstream's split of 63 characters: so many of the text, the rest of its digest.
constexpr std::size_t kKeptText = 50;
constexpr std::size_t kKeptDigest = 13;

std::string with_digest(std::string_view beginning, std::string_view whole) {
  return std::string(beginning.substr(0, kKeptText)) +
         crypto::md5_hex(whole).substr(0, kKeptDigest);
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool fits_label(char c) { return is_plain(c) || c == '-' || c == '_' || c == '.'; }

std::map<std::string, std::string> listener_labels(std::string_view owner_kind,
                                                   std::string_view owner,
                                                   const model::LoadBalancerRef& load_balancer,
                                                   bool segment) {
  return {
      {std::string(kSegmentLabel), segment ? "true" : "false"},
      {std::string(kLoadBalancerIdLabel), label_value(model::listener_base_name(load_balancer))},
      {std::string(kLoadBalancerRegionLabel), label_value(load_balancer.region)},
      {std::string(kOwnerKindKey), std::string(owner_kind)},
      {std::string(kOwnerNameKey), label_value(owner)},
  };
}

}  // namespace

std::string label_value(std::string_view text) {
  if (text.empty()) return {};
  const bool fits = text.size() <= kMaxLabelText && std::ranges::all_of(text, fits_label) &&
                    is_plain(text.front()) && is_plain(text.back());
  if (fits) return std::string(text);
  std::string beginning(text);
  std::ranges::replace_if(beginning, [](char c) { return !fits_label(c); }, '-');
  if (!is_plain(beginning.front())) beginning.front() = 'x';
  return with_digest(beginning, text);
}

std::string pool_binding_label(std::string_view pool, std::string_view pool_namespace) {
  std::string key(kPoolBindingPrefix);
  key.append(pool).append(".").append(pool_namespace);
  return key.size() <= kMaxLabelText ? key : with_digest(key, key);
}

std::string pool_item_label(std::string_view pool, std::string_view item) {
  return std::string(pool) + "/" + crypto::md5_hex(item);
}

std::string_view owner_field(std::string_view kind) {
  if (kind == "PortPool") return "portpool";
  return kind == "Ingress" ? "ingress" : "";
}

std::string load_balancer_selector(const model::LoadBalancerRef& load_balancer) {
  return fmt::format("{}={}", kLoadBalancerIdLabel,
                     label_value(model::listener_base_name(load_balancer)));
}

std::map<std::string, std::string> pool_listener_labels(std::string_view pool,
                                                        std::string_view item,
                                                        const model::LoadBalancerRef& load_balancer,
                                                        bool segment) {
  auto labels = listener_labels("PortPool", pool, load_balancer, segment);
  labels.emplace(kPoolListenerLabel, "true");
  labels.emplace(kUptimeCheckLabel, "true");
  labels.emplace(pool_item_label(pool, item), kPoolItemLabelValue);
  return labels;
}

std::map<std::string, std::string> ingress_listener_labels(
    std::string_view ingress, const model::LoadBalancerRef& load_balancer, bool segment) {
  auto labels = listener_labels("Ingress", ingress, load_balancer, segment);
  // One that is called like another label goes without: by the others it is found too.
  labels.emplace(label_value(ingress), kIngressLabelValue);
  return labels;
}

}  // namespace berth::api
