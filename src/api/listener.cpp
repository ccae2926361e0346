#include "api/listener.h"

#include <algorithm>

namespace berth::api {

template <>
std::span<const Field> fields_of<ListenerBackend>() {
  static constexpr Field f[] = {
      field<&ListenerBackend::ip>("IP", "Address of the target.",
                                  {.max_len = 64, .required = true}),
      field<&ListenerBackend::port>("port", "Port of the target.",
                                    {.min = 1, .max = 65535, .required = true}),
      field<&ListenerBackend::weight>("weight", "Share of the traffic.", {.min = 0, .max = 100}),
  };
  static_assert(covers<ListenerBackend>(f));
  return f;
}

template <>
std::span<const Field> fields_of<ListenerTargetGroup>() {
  static constexpr Field f[] = {
      field<&ListenerTargetGroup::target_group_protocol>(
          "targetGroupProtocol", "Protocol spoken to the targets.", {.max_len = 16}),
      field<&ListenerTargetGroup::backends>("backends", "Where the traffic goes.",
                                            {.max_items = 1000}),
  };
  static_assert(covers<ListenerTargetGroup>(f));
  return f;
}

template <>
std::span<const Field> fields_of<ListenerSpec>() {
  static constexpr Field f[] = {
      field<&ListenerSpec::load_balancer_id>("loadbalancerID", "The load balancer that listens.",
                                             {.max_len = 253, .required = true}),
      field<&ListenerSpec::port>("port", "Port, or the first one of a range.",
                                 {.min = 1, .max = 65535, .required = true}),
      field<&ListenerSpec::end_port>("endPort", "Last port of a range; 0 for one port.",
                                     {.min = 0, .max = 65535}),
      field<&ListenerSpec::protocol>("protocol", "TCP, UDP, HTTP or HTTPS.",
                                     {.max_len = 16, .required = true}),
      field<&ListenerSpec::target_group>("targetGroup", "Targets of a layer 4 listener."),
  };
  static_assert(covers<ListenerSpec>(f));
  return f;
}

template <>
std::span<const Field> fields_of<ListenerStatus>() {
  static constexpr Field f[] = {
      field<&ListenerStatus::listener_id>("listenerID", "The cloud's id of the listener.",
                                          {.max_len = 512}),
      field<&ListenerStatus::status>("status", "Synced when the load balancer looks like the spec.",
                                     {.choices = "Synced|NotSynced"}),
      field<&ListenerStatus::message>("msg", "Why it is not synced.", {.max_len = 4096}),
      field<&ListenerStatus::port_pool>("portpool", "The pool that it is a slot of.",
                                        {.max_len = 253}),
  };
  static_assert(covers<ListenerStatus>(f));
  return f;
}

const KindInfo& listener_kind() {
  static const KindInfo kind{
      .type = {std::string(kNetworkExtensionGroup), "v1", "listeners", "Listener", true},
      .singular = "listener",
      .doc = "One port of one load balancer and where its traffic goes.",
      .status_subresource = false,
      .columns = {{"status", "string", ".status.status"},
                  {"protocol", "string", ".spec.protocol"},
                  {"port", "integer", ".spec.port"},
                  {"endPort", "integer", ".spec.endPort"},
                  {"loadbalancerID", "string", ".spec.loadbalancerID"},
                  {"portpool", "string", ".status.portpool"}},
      .spec_fields = fields_of<ListenerSpec>,
      .status_fields = fields_of<ListenerStatus>,
  };
  return kind;
}

std::string pool_listener_name(std::string_view load_balancer_id, std::string_view protocol,
                               std::int64_t port) {
  std::string name = fmt::format("{}-{}-{}", load_balancer_id, protocol, port);
  // Object names are lower case and know no colon ("edge:demo", "region:id").
  std::ranges::transform(name, name.begin(), [](char c) {
    if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
    return c == ':' || c == '_' || c == '/' ? '-' : c;
  });
  return name;
}

}  // namespace berth::api
