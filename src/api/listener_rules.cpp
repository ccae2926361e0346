#include "api/listener_rules.h"

#include "model/load_balancer_name.h"
#include "wire/value.h"

namespace berth::api {
namespace {

using model::AttributeLimits;
using model::Bounds;

// A sum of 1 (1xx), 2 (2xx), 4 (3xx), 8 (4xx) and 16 (5xx).
constexpr Bounds kCodeMasks{1, 31};

constexpr std::string_view kOneWay = "UNIDIRECTIONAL";
constexpr std::string_view kMutual = "MUTUAL";

std::optional<Breach> check_number(std::int64_t number, const Bounds& bounds, std::string path,
                                   std::string_view title) {
  if (number == 0 || bounds.contains(number)) return std::nullopt;
  return Breach{std::move(path),
                fmt::format("{} is neither 0 nor in {}-{}, as {} load balancers have it", number,
                            bounds.least, bounds.most, title)};
}

std::optional<Breach> check_timeout(const ListenerHealthCheck& check, const AttributeLimits& limits,
                                    const std::string& path) {
  const std::int64_t timeout = check.timeout ? check.timeout : limits.default_timeout;
  const std::int64_t interval = check.interval_time ? check.interval_time : limits.default_interval;
  if (timeout < interval || (timeout == interval && limits.timeout_may_be_interval))
    return std::nullopt;
  return Breach{path + ".timeout",
                fmt::format("{} seconds{} are not {} the interval of {} seconds{} (intervalTime)",
                            timeout, check.timeout ? "" : ", the default,",
                            limits.timeout_may_be_interval ? "within" : "below", interval,
                            check.interval_time ? "" : ", the default")};
}

std::optional<Breach> check_http(const ListenerHealthCheck& check, bool layer7,
                                 const std::string& path) {
  const std::string& method = check.http_check_method;
  if (!method.empty() && method != "HEAD" && method != "GET") {
    return Breach{path + ".httpCheckMethod", fmt::format("'{}' is not one of HEAD, GET", method)};
  }
  if (!check.http_check_path.empty() && check.http_check_path.front() != '/') {
    return Breach{path + ".httpCheckPath",
                  fmt::format("'{}' does not begin with /", check.http_check_path)};
  }
  const bool one_kind = (check.http_code & (check.http_code - 1)) == 0;
  if (!layer7 && !check.http_check_path.empty() && !one_kind) {
    return Breach{path + ".httpCode",
                  fmt::format("{} is a sum, and a TCP listener that is probed by HTTP takes one of "
                              "1, 2, 4, 8, 16",
                              check.http_code)};
  }
  return std::nullopt;
}

std::optional<Breach> check_health(const ListenerHealthCheck& check, bool layer7,
                                   const model::ProviderTraits& provider, const std::string& path) {
  if (!check.enabled) return std::nullopt;  // nobody reads the rest
  const AttributeLimits& limits = layer7 ? provider.layer7 : provider.layer4;
  const std::string_view title = provider.title;
  if (auto b = check_number(check.timeout, limits.probe_timeout, path + ".timeout", title))
    return b;
  if (auto b =
          check_number(check.interval_time, limits.probe_interval, path + ".intervalTime", title))
    return b;
  if (auto b = check_number(check.health_num, limits.probe_count, path + ".healthNum", title))
    return b;
  if (auto b = check_number(check.unhealth_num, limits.probe_count, path + ".unHealthNum", title))
    return b;
  if (auto b = check_number(check.http_code, kCodeMasks, path + ".httpCode", title)) return b;
  if (auto b = check_timeout(check, limits, path)) return b;
  if (!check.http_code_values.empty() && !limits.has_code_texts) {
    return Breach{path + ".httpCodeValues",
                  fmt::format("'{}' is not for {} load balancers: write a sum in httpCode",
                              check.http_code_values, title)};
  }
  return check_http(check, layer7, path);
}

}  // namespace

bool share_names(const model::LoadBalancerRef& a, const model::LoadBalancerRef& b) {
  if (model::is_name(a) || model::is_name(b)) return false;  // their ids are not known yet
  return a != b && model::listener_base_name(a) == model::listener_base_name(b);
}

std::string shared_names(const model::LoadBalancerRef& a, const model::LoadBalancerRef& b) {
  return fmt::format(
      "Listeners of {} and {} have the same names ('{}-...'), which have no region "
      "and '-' for other characters",
      model::to_string(a), model::to_string(b), model::listener_base_name(a));
}

std::optional<Breach> check_policy(const ListenerAttribute& attribute, bool layer7,
                                   const std::string& path) {
  const std::string& policy = attribute.lb_policy;
  if (policy.empty() || policy == "WRR" || policy == "LEAST_CONN" || policy == "IP_HASH")
    return std::nullopt;
  return Breach{path + ".lbPolicy",
                fmt::format("'{}' is not one of {}", policy,
                            layer7 ? "WRR, LEAST_CONN, IP_HASH" : "WRR, LEAST_CONN")};
}

std::optional<Breach> check_attribute(const ListenerAttribute& attribute, bool layer7,
                                      const model::ProviderTraits& provider,
                                      const std::string& path) {
  const AttributeLimits& limits = layer7 ? provider.layer7 : provider.layer4;
  if (auto breach = check_number(attribute.session_time, limits.session_seconds,
                                 path + ".sessionTime", provider.title))
    return breach;
  if (attribute.lb_policy == "IP_HASH" && !limits.has_source_ip) {
    return Breach{path + ".lbPolicy",
                  fmt::format("'IP_HASH' is for HTTP and HTTPS alone on {} load balancers: write "
                              "WRR or LEAST_CONN",
                              provider.title)};
  }
  if (!attribute.health_check) return std::nullopt;
  return check_health(*attribute.health_check, layer7, provider, path + ".healthCheck");
}

std::optional<Breach> check_certificate(const Boxed<ListenerCertificate>& certificate,
                                        const std::string& path) {
  if (!certificate) return std::nullopt;
  const std::string& mode = certificate->mode;
  if (!mode.empty() && mode != kOneWay && mode != kMutual)
    return Breach{path + ".mode", fmt::format("'{}' is not one of {}, {}", mode, kOneWay, kMutual)};
  if (mode == kMutual && certificate->cert_ca_id.empty()) {
    return Breach{path + ".certCaID",
                  "is required with mode MUTUAL: the certificate of the authority that signed "
                  "those of clients"};
  }
  if (mode == kMutual || certificate->cert_ca_id.empty()) return std::nullopt;
  return Breach{path + ".certCaID",
                fmt::format("'{}' is for mode MUTUAL, and the mode is {}: write MUTUAL, or leave "
                            "it out",
                            certificate->cert_ca_id, mode.empty() ? kOneWay : mode)};
}

std::optional<Breach> check_has_certificate(const Boxed<ListenerCertificate>& certificate,
                                            model::Protocol protocol,
                                            std::string_view protocol_text,
                                            const std::string& path) {
  if (!ends_tls(protocol) || (certificate && !certificate->cert_id.empty())) return std::nullopt;
  return Breach{path + ".certID", fmt::format("is required with protocol {}", protocol_text)};
}

std::optional<Breach> check_segments(const model::LoadBalancerRef& load_balancer,
                                     std::string_view type, const std::string& path) {
  if (!model::traits_of(load_balancer.provider).ranges_are_public || type != "INTERNAL")
    return std::nullopt;
  return Breach{path, fmt::format("segments of ports on {}, which is an internal load balancer: "
                                  "only public ones have them",
                                  model::to_string(load_balancer))};
}

std::string idle_without_path(const ListenerHealthCheck& check) {
  std::string out;
  const auto note = [&](bool given, std::string_view name) {
    if (given) out += fmt::format("{}{}", out.empty() ? "" : ", ", name);
  };
  if (!check.http_check_path.empty()) return out;
  note(check.http_code != 0, "httpCode");
  note(!check.http_code_values.empty(), "httpCodeValues");
  note(!check.http_check_method.empty(), "httpCheckMethod");
  return out;
}

bool is_dialled(const Json& uptime_check) {
  if (!uptime_check.text) return false;
  const Result<wire::Value> value = wire::parse_json(*uptime_check.text);
  return value && wire::bool_at(*value, "/enabled").value_or(true);
}

}  // namespace berth::api
