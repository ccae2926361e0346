#include "api/load_balancer.h"

namespace berth::api {

template <>
std::span<const Field> fields_of<Grant>() {
  using G = Grant;
  static constexpr Field f[] = {
      field<&G::protocol>("protocol", "TCP or UDP.", {.max_len = 16, .required = true}),
      field<&G::start_port>("startPort", "First port.", {.min = 1, .max = 65535, .required = true}),
      field<&G::end_port>("endPort", "Last port, included.",
                          {.min = 1, .max = 65535, .required = true}),
      field<&G::owner_kind>("ownerKind", "Kind of the owner.", {.max_len = 63, .required = true}),
      field<&G::owner_namespace>("ownerNamespace", "Namespace of the owner.", {.max_len = 63}),
      field<&G::owner_name>("ownerName", "Name of the owner.", {.max_len = 253, .required = true}),
      field<&G::owner_uid>("ownerUID", "Uid of the owner: one of the same name is another.",
                           {.max_len = 64}),
      field<&G::item>("item", "Item of a pool.", {.max_len = 128}),
      field<&G::since>("since", "When it was granted.", {.max_len = 64}),
  };
  static_assert(covers<Grant>(f));
  return f;
}

template <>
std::span<const Field> fields_of<LoadBalancerSpec>() {
  using S = LoadBalancerSpec;
  static constexpr Field f[] = {
      field<&S::provider>("provider", "Who runs it: edge, tencent, aws or gcp.",
                          {.max_len = 32, .required = true}),
      field<&S::account>("account", "Whose it is, where ids are not unique without it.",
                         {.max_len = 64}),
      field<&S::region>("region", "Where it stands, if the provider has regions.", {.max_len = 64}),
      field<&S::load_balancer_id>("loadBalancerID", "Its id at the provider.",
                                  {.max_len = 512, .required = true}),
      field<&S::grants>("grants", "Who owns which ports on it.", {.max_items = kMaxGrants}),
  };
  static_assert(covers<LoadBalancerSpec>(f));
  return f;
}

template <>
std::span<const Field> fields_of<LoadBalancerStatus>() {
  using S = LoadBalancerStatus;
  static constexpr Field f[] = {
      field<&S::name>("name", "Its name at the provider.", {.max_len = 256}),
      field<&S::vips>("vips", "Its addresses.", {.max_items = 64}),
      field<&S::dns_name>("dnsName", "Its DNS name.", {.max_len = 256}),
      field<&S::type>("type", "OPEN or INTERNAL.", {.max_len = 32}),
      field<&S::listener_quota>("listenerQuota", "How many listeners it may have; 0: not known.",
                                {.min = 0}),
      field<&S::listeners_used>("listenersUsed", "How many it has.", {.min = 0, .always = true}),
      field<&S::low_port_limit>("lowPortLimit",
                                "Ports below this are reached at port + lowPortOffset.",
                                {.min = 0, .max = 65536}),
      field<&S::low_port_offset>("lowPortOffset", "See lowPortLimit.", {.min = 0, .max = 65535}),
      field<&S::last_error>("lastError", "What the provider said last when it refused.",
                            {.max_len = 4096}),
      field<&S::conditions>("conditions", "How it stands.", {.max_items = 16, .map_key = "type"}),
  };
  static_assert(covers<LoadBalancerStatus>(f));
  return f;
}

const KindInfo& load_balancer_kind() {
  static const KindInfo kind{
      .type = {std::string(kBerthGroup), "v1", "loadbalancers", "LoadBalancer", false},
      .singular = "loadbalancer",
      .short_names = {"blb"},
      .doc = "A load balancer, who owns which ports on it, and what its provider says.",
      .columns = {{"Provider", "string", ".spec.provider"},
                  {"VIPs", "string", ".status.vips"},
                  {"Quota", "integer", ".status.listenerQuota"},
                  {"Used", "integer", ".status.listenersUsed"},
                  {"Last-Error", "string", ".status.lastError"},
                  {"Age", "date", ".metadata.creationTimestamp"}},
      .spec_fields = fields_of<LoadBalancerSpec>,
      .status_fields = fields_of<LoadBalancerStatus>,
  };
  return kind;
}

}  // namespace berth::api
