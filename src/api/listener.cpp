#include "api/listener.h"

namespace berth::api {

template <>
std::span<const Field> fields_of<ListenerBackend>() {
  static constexpr Field f[] = {
      field<&ListenerBackend::ip>("IP", "Address of the target.",
                                  {.max_len = 64, .required = true}),
      field<&ListenerBackend::port>("port", "Port of the target; of a segment, that of its first.",
                                    {.min = 1, .max = 65535, .required = true}),
      // Written when 0 too: such a target is drained, which is not the same as the default.
      field<&ListenerBackend::weight>("weight", "Share of the traffic; 0 for no new connections.",
                                      {.min = 0, .max = 100, .always = true}),
  };
  static_assert(covers<ListenerBackend>(f));
  return f;
}

template <>
std::span<const Field> fields_of<ListenerTargetGroup>() {
  using G = ListenerTargetGroup;
  static constexpr Field f[] = {
      field<&G::target_group_id>("targetGroupID", "The cloud's id of the group.", {.max_len = 512}),
      field<&G::target_group_name>("targetGroupName", "Its name at the cloud.", {.max_len = 256}),
      field<&G::protocol>("protocol", "Protocol spoken to the targets.", {.max_len = 16}),
      field<&G::backends>("backends", "Where the traffic goes.", {.max_items = 1000}),
  };
  static_assert(covers<ListenerTargetGroup>(f));
  return f;
}

template <>
std::span<const Field> fields_of<ListenerRule>() {
  using R = ListenerRule;
  static constexpr Field f[] = {
      field<&R::rule_id>("ruleID", "The cloud's id of the rule.", {.max_len = 512}),
      field<&R::domain>("domain", "Host that requests name.", {.max_len = 253}),
      field<&R::path>("path", "How their path begins.", {.max_len = 1024}),
      field<&R::certificate>("certificate", "Certificate of the domain, with SNI."),
      field<&R::listener_attribute>("listenerAttribute", "Attributes of the rule."),
      field<&R::target_group>("targetGroup", "Targets of the rule."),
  };
  static_assert(covers<ListenerRule>(f));
  return f;
}

template <>
std::span<const Field> fields_of<ListenerSpec>() {
  using S = ListenerSpec;
  static constexpr Field f[] = {
      field<&S::load_balancer_id>("loadbalancerID", "The load balancer that listens.",
                                  {.max_len = 512, .required = true}),
      field<&S::port>("port", "Port, or the first one of a segment.",
                      {.min = 1, .max = 65535, .required = true}),
      field<&S::end_port>("endPort", "Last port of a segment; 0 for one port.",
                          {.min = 0, .max = 65535}),
      field<&S::protocol>("protocol", "TCP, UDP, TCP_SSL, QUIC, HTTP or HTTPS.",
                          {.max_len = 16, .required = true}),
      field<&S::listener_attribute>("listenerAttribute", "Attributes at the load balancer."),
      field<&S::certificate>("certificate", "Certificate of a listener with TLS."),
      field<&S::target_group>("targetGroup", "Targets of a layer 4 listener."),
      field<&S::rules>("rules", "Rules of a layer 7 listener.", {.max_items = 1000}),
  };
  static_assert(covers<ListenerSpec>(f));
  return f;
}

template <>
std::span<const Field> fields_of<ListenerStatus>() {
  using S = ListenerStatus;
  static constexpr Field f[] = {
      field<&S::listener_id>("listenerID", "The cloud's id of the listener.", {.max_len = 4096}),
      field<&S::status>("status", "Synced when the load balancer looks like the spec.",
                        {.choices = "Synced|NotSynced"}),
      field<&S::health_status>("healthStatus", "Health of the targets, where the cloud tells it."),
      field<&S::uptime_check_status>("uptimeCheckStatus",
                                     "State of the dial test: id, status, msg."),
      field<&S::message>("msg", "Why it is not synced.", {.max_len = 4096}),
      field<&S::port_pool>("portpool", "The pool that it is a slot of.", {.max_len = 253}),
      field<&S::ingress>("ingress", "The Ingress that it was made for.", {.max_len = 253}),
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
                  {"ingress", "string", ".status.ingress"},
                  {"portpool", "string", ".status.portpool"}},
      .spec_fields = fields_of<ListenerSpec>,
      .status_fields = fields_of<ListenerStatus>,
  };
  return kind;
}

std::vector<const ListenerBackend*> backends_of(const ListenerSpec& spec) {
  std::vector<const ListenerBackend*> out;
  const auto add = [&out](const Boxed<ListenerTargetGroup>& group) {
    if (!group) return;
    for (const ListenerBackend& backend : group->backends) out.push_back(&backend);
  };
  add(spec.target_group);
  for (const ListenerRule& rule : spec.rules) add(rule.target_group);
  return out;
}

model::PortRange ports_of(const ListenerSpec& spec) {
  const auto first = static_cast<model::Port>(spec.port);
  return {first, spec.end_port > spec.port ? static_cast<model::Port>(spec.end_port) : first};
}

std::string pool_listener_name(const model::LoadBalancerRef& load_balancer,
                               model::Protocol protocol, const model::PortRange& ports) {
  const std::string_view word = protocol == model::Protocol::udp   ? "udp"
                                : protocol == model::Protocol::tls ? "tcpssl"
                                                                   : "tcp";
  std::string name =
      fmt::format("{}-{}-{}", model::listener_base_name(load_balancer), word, ports.first);
  if (ports.size() > 1) name += fmt::format("-{}", ports.last);
  return name;
}

}  // namespace berth::api
