#include "api/port_block.h"

namespace berth::api {

template <>
std::span<const Field> fields_of<PortBlockSpec>() {
  using S = PortBlockSpec;
  static constexpr Field f[] = {
      field<&S::load_balancer>("loadBalancer", "Name of the LoadBalancer object.",
                               {.max_len = 253, .required = true}),
      field<&S::protocol>("protocol", "TCP or UDP.", {.max_len = 16, .required = true}),
      field<&S::start_port>("startPort", "First port.", {.min = 1, .max = 65535, .required = true}),
      field<&S::end_port>("endPort", "Last port, included.",
                          {.min = 1, .max = 65535, .required = true}),
      field<&S::closed>("closed", "Its ports go back to the LoadBalancer object."),
      field<&S::grants>("grants", "Who owns which of its ports.", {.max_items = kMaxGrants}),
  };
  static_assert(covers<PortBlockSpec>(f));
  return f;
}

const KindInfo& port_block_kind() {
  static const KindInfo kind{
      .type = {std::string(kBerthGroup), "v1", "portblocks", "PortBlock", false},
      .singular = "portblock",
      .doc = "A block of ports of a load balancer with many owners, and who has which of them.",
      .status_subresource = false,
      .columns = {{"Load-Balancer", "string", ".spec.loadBalancer"},
                  {"Protocol", "string", ".spec.protocol"},
                  {"First", "integer", ".spec.startPort"},
                  {"Last", "integer", ".spec.endPort"},
                  {"Closed", "boolean", ".spec.closed"},
                  {"Age", "date", ".metadata.creationTimestamp"}},
      .spec_fields = fields_of<PortBlockSpec>,
  };
  return kind;
}

}  // namespace berth::api
