#include "api/ingress.h"

namespace berth::api {

template <>
std::span<const Field> fields_of<IngressWeight>() {
  static constexpr Field f[] = {
      // Written when 0 too: no new connections, which is not the same as the default.
      field<&IngressWeight::value>("value", "Share of the traffic; 0 for no new connections.",
                                   {.min = 0, .max = kMaxWeight, .always = true}),
  };
  static_assert(covers<IngressWeight>(f));
  return f;
}

template <>
std::span<const Field> fields_of<IngressSubset>() {
  using S = IngressSubset;
  static constexpr Field f[] = {
      field<&S::label_selector>("labelSelector",
                                "Labels that its Pods have beside those of the Service."),
      field<&S::weight>("weight", "Weight of its Pods; 10 if absent."),
  };
  static_assert(covers<IngressSubset>(f));
  return f;
}

template <>
std::span<const Field> fields_of<ServiceRoute>() {
  using S = ServiceRoute;
  static constexpr Field f[] = {
      field<&S::service_name>("serviceName", "Name of the Service.",
                              {.max_len = kMaxObjectName, .required = true}),
      field<&S::service_namespace>("serviceNamespace", "Its namespace; the Ingress's own if empty.",
                                   {.max_len = kMaxNamespace}),
      field<&S::service_kind>("serviceKind", "Service, which is what an empty text means too.",
                              {.max_len = 64}),
      field<&S::service_port>("servicePort", "One of the Service's ports, as its `port` has it.",
                              {.min = 1, .max = 65535, .required = true}),
      field<&S::host_port>("hostPort",
                           "With isDirectConnect: to the host ports of the Pods, on their nodes."),
      field<&S::is_direct_connect>("isDirectConnect",
                                   "To the Pods themselves; otherwise to their nodes' node port."),
      field<&S::weight>("weight", "Weight of the Service's targets; 10 if absent."),
      field<&S::subsets>("subsets", "With isDirectConnect: these Pods alone, each with its weight.",
                         {.max_items = kMaxSubsetsPerService}),
  };
  static_assert(covers<ServiceRoute>(f));
  return f;
}

template <>
std::span<const Field> fields_of<Layer7Route>() {
  using R = Layer7Route;
  static constexpr Field f[] = {
      field<&R::domain>("domain", "Host that requests name.",
                        {.max_len = kMaxDomain, .required = true}),
      field<&R::path>("path", "How their path begins; / if empty.", {.max_len = kMaxPath}),
      field<&R::forward_type>("forwardType",
                              "What targets are spoken to with: GRPC or QUIC; as the rule if "
                              "empty.",
                              {.max_len = 16}),
      field<&R::listener_attribute>("listenerAttribute", "Attributes of the route."),
      field<&R::certificate>("certificate", "Certificate of the domain, with sniSwitch."),
      field<&R::services>("services", "Where the traffic goes.",
                          {.max_items = kMaxServicesPerRule}),
  };
  static_assert(covers<Layer7Route>(f));
  return f;
}

template <>
std::span<const Field> fields_of<IngressRule>() {
  using R = IngressRule;
  static constexpr Field f[] = {
      field<&R::port>("port", "Port of the load balancers.",
                      {.min = 1, .max = 65535, .required = true}),
      field<&R::protocol>("protocol", "TCP, UDP, TCP_SSL, QUIC, HTTP or HTTPS.",
                          {.max_len = 16, .required = true}),
      field<&R::listener_attribute>("listenerAttribute",
                                    "Attributes of the listener; of HTTP and HTTPS, sniSwitch and "
                                    "keepAliveEnable alone."),
      field<&R::certificate>("certificate", "Certificate, for HTTPS, TCP_SSL and QUIC."),
      field<&R::services>("services", "Where the traffic of layer 4 goes.",
                          {.max_items = kMaxServicesPerRule}),
      field<&R::layer7_routes>("layer7Routes",
                               "Where that of HTTP and HTTPS goes, by domain and "
                               "path.",
                               {.max_items = kMaxRoutesPerRule}),
  };
  static_assert(covers<IngressRule>(f));
  return f;
}

template <>
std::span<const Field> fields_of<MappingRoute>() {
  using R = MappingRoute;
  static constexpr Field f[] = {
      field<&R::domain>("domain", "Host that requests name.",
                        {.max_len = kMaxDomain, .required = true}),
      field<&R::path>("path", "How their path begins; / if empty.", {.max_len = kMaxPath}),
      field<&R::listener_attribute>("listenerAttribute", "Attributes of the route."),
  };
  static_assert(covers<MappingRoute>(f));
  return f;
}

template <>
std::span<const Field> fields_of<PortMapping>() {
  using M = PortMapping;
  static constexpr Field f[] = {
      field<&M::workload_kind>("workloadKind", "StatefulSet or GameStatefulSet.",
                               {.max_len = 64, .required = true}),
      field<&M::workload_name>("workloadName", "Name of the workload.",
                               {.max_len = kMaxObjectName, .required = true}),
      field<&M::workload_namespace>("workloadNamespace", "Its namespace.",
                                    {.max_len = kMaxNamespace, .required = true}),
      field<&M::start_port>("startPort",
                            "Port of the Pod with index 0; each further Pod has the next ones.",
                            {.min = 1, .max = 65535, .required = true}),
      field<&M::rs_start_port>("rsStartPort",
                               "Port inside the Pod with index 0; as startPort if 0.",
                               {.min = 0, .max = 65535}),
      // Written when 0 too: it is the first Pod.
      field<&M::start_index>("startIndex", "Index of the first Pod.",
                             {.min = 0, .max = kMaxPodIndex, .always = true}),
      field<&M::end_index>("endIndex", "The index after that of the last Pod.",
                           {.min = 1, .max = kMaxPodIndex, .required = true}),
      field<&M::segment_length>("segmentLength", "Ports for each Pod; 0 or 1 for one.",
                                {.min = 0, .max = 65535}),
      field<&M::protocol>("protocol", "TCP, UDP, TCP_SSL, QUIC, HTTP or HTTPS.",
                          {.max_len = 16, .required = true}),
      field<&M::is_rs_port_fixed>("isRsPortFixed", "Every Pod has the same ports inside."),
      field<&M::ignore_segment>("ignoreSegment",
                                "A listener for each port, instead of one for all ports of a Pod."),
      field<&M::host_port>("hostPort",
                           "To the host ports of the Pods; needs isRsPortFixed and ignoreSegment."),
      field<&M::listener_attribute>("listenerAttribute", "Attributes of the listeners."),
      field<&M::certificate>("certificate", "Certificate, for HTTPS, TCP_SSL and QUIC."),
      field<&M::routes>("routes", "Domains and paths, for HTTP and HTTPS.",
                        {.max_items = kMaxRoutesPerRule}),
  };
  static_assert(covers<PortMapping>(f));
  return f;
}

template <>
std::span<const Field> fields_of<IngressSpec>() {
  static constexpr Field f[] = {
      field<&IngressSpec::rules>("rules", "From a port to Services.",
                                 {.max_items = kMaxRulesPerIngress}),
      field<&IngressSpec::port_mappings>("portMappings",
                                         "From ranges of ports to the Pods of a workload.",
                                         {.max_items = kMaxMappingsPerIngress}),
  };
  static_assert(covers<IngressSpec>(f));
  return f;
}

template <>
std::span<const Field> fields_of<IngressStatus>() {
  static constexpr Field f[] = {
      field<&IngressStatus::load_balancers>("loadbalancers", "Its load balancers.",
                                            {.max_items = kMaxLoadBalancersPerIngress}),
      field<&IngressStatus::status>("status", "Ready when every listener is as written."),
      field<&IngressStatus::message>("message", "What is in the way."),
  };
  static_assert(covers<IngressStatus>(f));
  return f;
}

const KindInfo& ingress_kind() {
  static const KindInfo kind{
      .type = {std::string(kNetworkExtensionGroup), "v1", "ingresses", "Ingress", true},
      .singular = "ingress",
      .short_names = {"bcsingress"},
      .doc =
          "Ports of load balancers that lead to Services, and to the Pods of a workload one by "
          "one.",
      .status_subresource = false,
      .columns = {{"status", "string", ".status.status"},
                  {"address", "string", ".status.loadbalancers[*].ips[*]"},
                  {"message", "string", ".status.message"}},
      .spec_fields = fields_of<IngressSpec>,
      .status_fields = fields_of<IngressStatus>,
  };
  return kind;
}

}  // namespace berth::api
