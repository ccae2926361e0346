#include "api/listener_parts.h"

namespace berth::api {

template <>
std::span<const Field> fields_of<AwsAttribute>() {
  static constexpr Field f[] = {
      field<&AwsAttribute::key>("key", "Name of the attribute.", {.max_len = 256}),
      field<&AwsAttribute::value>("value", "Its value.", {.max_len = 1024}),
  };
  static_assert(covers<AwsAttribute>(f));
  return f;
}

template <>
std::span<const Field> fields_of<ListenerHealthCheck>() {
  using H = ListenerHealthCheck;
  static constexpr Field f[] = {
      field<&H::enabled>("enabled", "Whether targets are probed; false switches it off."),
      field<&H::timeout>("timeout", "Seconds until a probe has failed.", {.min = 0}),
      field<&H::interval_time>("intervalTime", "Seconds between probes.", {.min = 0}),
      field<&H::health_num>("healthNum", "Probes in a row that make a target healthy.", {.min = 0}),
      field<&H::unhealth_num>("unHealthNum", "Probes in a row that make a target unhealthy.",
                              {.min = 0}),
      field<&H::http_code>("httpCode", "Sum of 1 (1xx), 2 (2xx), 4 (3xx), 8 (4xx), 16 (5xx).",
                           {.min = 0}),
      field<&H::health_check_port>("healthCheckPort", "Port to probe; the target's own if 0.",
                                   {.min = 0, .max = 65535}),
      field<&H::health_check_protocol>("healthCheckProtocol", "How to probe.", {.max_len = 32}),
      field<&H::http_code_values>("httpCodeValues", "AWS: codes as 200, 200,202 or 200-299.",
                                  {.max_len = 256}),
      field<&H::http_check_path>("httpCheckPath", "Path to ask for.", {.max_len = 1024}),
      field<&H::http_check_method>("httpCheckMethod", "Method to ask with.", {.max_len = 16}),
  };
  static_assert(covers<ListenerHealthCheck>(f));
  return f;
}

template <>
std::span<const Field> fields_of<ListenerAttribute>() {
  using A = ListenerAttribute;
  static constexpr Field f[] = {
      field<&A::session_time>("sessionTime",
                              "Seconds for which a client stays with its target; 0 for not.",
                              {.min = 0}),
      field<&A::session_type>("sessionType", "How clients are told apart.",
                              {.choices = "NORMAL|QUIC_CID"}),
      field<&A::sni_switch>("sniSwitch", "1: certificates per domain.", {.min = 0, .max = 1}),
      field<&A::keep_alive_enable>("keepAliveEnable", "1: connections to targets are kept.",
                                   {.min = 0, .max = 1}),
      field<&A::lb_policy>("lbPolicy", "WRR, LEAST_CONN or IP_HASH.", {.max_len = 32}),
      field<&A::backend_insecure>("backendInsecure", "AWS, GCP: targets speak no TLS."),
      field<&A::max_rate>("maxRate", "GCP: requests a second per target; 1000 if 0.", {.min = 0}),
      field<&A::aws_attributes>("awsAttributes", "AWS: attributes of the target group.",
                                {.max_items = 64}),
      field<&A::health_check>("healthCheck", "Probing of targets; absent: the cloud's default."),
      field<&A::uptime_check>("uptimeCheck", "Dial test of the BlueKing monitor, kept as it is."),
      field<&A::priority>("priority", "AWS: priority of the rule.", {.min = 0}),
  };
  static_assert(covers<ListenerAttribute>(f));
  return f;
}

template <>
std::span<const Field> fields_of<ListenerCertificate>() {
  using C = ListenerCertificate;
  static constexpr Field f[] = {
      field<&C::mode>("mode", "UNIDIRECTIONAL or MUTUAL.", {.max_len = 32}),
      field<&C::cert_id>("certID", "The cloud's id of the server certificate.", {.max_len = 512}),
      field<&C::cert_ca_id>("certCaID", "That of the authority of clients, for MUTUAL.",
                            {.max_len = 512}),
  };
  static_assert(covers<ListenerCertificate>(f));
  return f;
}

// In the order in which programs in Pods have always seen them.
template <>
std::span<const Field> fields_of<LoadBalancerBrief>() {
  using B = LoadBalancerBrief;
  static constexpr Field f[] = {
      field<&B::name>("loadbalancerName", "Name at the cloud.", {.max_len = 256}),
      field<&B::id>("loadbalancerID", "Id at the cloud.", {.max_len = 512}),
      field<&B::region>("region", "Where it stands.", {.max_len = 64}),
      field<&B::type>("type", "OPEN or INTERNAL.", {.max_len = 32}),
      field<&B::ips>("ips", "Its addresses.", {.max_items = 64}),
      field<&B::dns_name>("dnsName", "Its DNS name.", {.max_len = 256}),
      field<&B::scheme>("scheme", "AWS: internet-facing or internal.", {.max_len = 32}),
      field<&B::aws_lb_type>("awsLBType", "AWS: network or application.", {.max_len = 32}),
  };
  static_assert(covers<LoadBalancerBrief>(f));
  return f;
}

Result<model::Protocol> parse_pool_protocol(std::string_view text) {
  if (text == kTlsProtocol || text == "tcp_ssl") return model::Protocol::tls;
  const Result<model::Transport> transport = model::parse_transport(text);
  if (transport) return model::protocol_of(*transport);
  return fail(Code::invalid, "protocol '{}' is not one of TCP, UDP, {}", text, kTlsProtocol);
}

std::string_view pool_protocol_text(model::Protocol protocol) {
  return protocol == model::Protocol::tls ? kTlsProtocol : model::to_string(protocol);
}

model::Transport pool_transport(model::Protocol protocol) {
  return model::transports_of(protocol).front();
}

}  // namespace berth::api
