#include "sim/cloud/tencent/attributes.h"

#include <algorithm>
#include <boost/json.hpp>
#include <initializer_list>

namespace berth::sim::tencent {
namespace {

using wire::Array;
using wire::Object;

bool is_among(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::ranges::find(list, text) != list.end();
}

std::string_view default_check_type(std::string_view protocol) {
  if (is_layer7(protocol)) return "HTTP";
  return protocol == "UDP" ? "PING" : "TCP";
}

bool can_check(std::string_view protocol, std::string_view type) {
  if (protocol == "UDP") return is_among(type, {"PING", "CUSTOM"});
  if (protocol == "TCP") return is_among(type, {"TCP", "HTTP", "CUSTOM"});
  if (protocol == "HTTP") return is_among(type, {"HTTP", "GRPC"});
  if (protocol == "HTTPS") return is_among(type, {"HTTP", "HTTPS", "GRPC"});
  return is_among(type, {"TCP", "HTTP"});
}

Object defaults(std::string_view protocol) {
  Object out{{"HealthSwitch", 1}, {"TimeOut", 2},     {"IntervalTime", 5},
             {"HealthNum", 3},    {"UnHealthNum", 3}, {"CheckType", default_check_type(protocol)},
             {"SourceIpType", 0}};
  if (is_layer7(protocol)) {
    out["HttpCode"] = 31;
    out["HttpCheckPath"] = "/";
    out["HttpCheckDomain"] = "";
    out["HttpCheckMethod"] = "HEAD";
  }
  return out;
}

// Rules between members; each member's own range is in the table of parameters.
Outcome<> check_together(const Call& call, const LoadBalancer& lb, std::string_view protocol,
                         const Params& merged, const Params& given) {
  const std::string type = merged.text("CheckType");
  if (!can_check(protocol, type)) {
    return refuse("InvalidParameterValue", "HealthCheck.CheckType of {} cannot be {}", protocol,
                  type);
  }
  const bool timed = given.has("TimeOut") || given.has("IntervalTime");
  if (call.settings().unsure.timeout_below_interval && timed &&
      merged.number("TimeOut") >= merged.number("IntervalTime")) {
    return refuse("InvalidParameterValue",
                  "HealthCheck.TimeOut should be less than HealthCheck.IntervalTime");
  }
  if (lb.ip_version == "ipv6" &&
      (merged.number("IntervalTime") < 5 || merged.number("SourceIpType") == 1)) {
    return refuse("InvalidParameterValue",
                  "IPv6: HealthCheck.IntervalTime should be 5 to 300, SourceIpType 0");
  }
  if (protocol == "TCP" && type == "HTTP" &&
      (merged.text("HttpVersion").empty() || merged.text("HttpCheckDomain").empty())) {
    return refuse("InvalidParameterValue",
                  "HealthCheck of a TCP listener by HTTP needs HttpVersion and HttpCheckDomain");
  }
  if (type == "CUSTOM" &&
      (merged.text("ContextType").empty() || merged.text("SendContext").empty() ||
       merged.text("RecvContext").empty())) {
    return refuse("InvalidParameterValue",
                  "HealthCheck CUSTOM needs ContextType, SendContext and RecvContext");
  }
  return {};
}

Outcome<> check_known(const Call& call, const std::string& id) {
  const auto& known = call.account.certificates;
  if (!known || std::ranges::find(*known, id) != known->end()) return {};
  return refuse("InvalidParameterValue", "Certificate {} not exist", id);
}

// An id that there is, or the content of a certificate that is uploaded with the call.
Outcome<std::string> named_or_uploaded(const Call& call, const Params& in,
                                       std::string_view id_field,
                                       std::initializer_list<std::string_view> content_fields) {
  std::string id = in.text(id_field);
  if (!id.empty()) {
    if (auto known = check_known(call, id); !known) return pass(known);
    return id;
  }
  for (const std::string_view field : content_fields) {
    if (in.text(field).empty())
      return refuse("MissingParameter", "A certificate needs `{}`, or `{}`.", id_field, field);
  }
  return call.state.make_id("");
}

Outcome<Object> single(const Call& call, const Params& in) {
  const std::string mode = in.has("SSLMode") ? in.text("SSLMode") : "UNIDIRECTIONAL";
  auto server = named_or_uploaded(call, in, "CertId", {"CertName", "CertKey", "CertContent"});
  if (!server) return pass(server);
  Object out{
      {"SSLMode", mode}, {"CertId", *server}, {"CertCaId", nullptr}, {"ExtCertIds", Array{}}};
  if (mode != "MUTUAL") return out;
  auto authority = named_or_uploaded(call, in, "CertCaId", {"CertCaName", "CertCaContent"});
  if (!authority) return pass(authority);
  out["CertCaId"] = *authority;
  out["SSLVerifyClient"] = in.has("SSLVerifyClient") ? in.text("SSLVerifyClient") : "ON";
  return out;
}

Outcome<Object> several(const Call& call, const Params& in) {
  Object out{{"SSLMode", in.text("SSLMode")}, {"CertId", nullptr}, {"CertCaId", nullptr}};
  Array others;
  for (const Params& one : in.objects("CertList")) {
    auto id = named_or_uploaded(call, one, "CertId", {"CertName", "CertContent"});
    if (!id) return pass(id);
    if (out["CertId"].is_null()) {
      out["CertId"] = *id;
    } else {
      others.emplace_back(*id);
    }
  }
  out["ExtCertIds"] = std::move(others);
  return out;
}

}  // namespace

Outcome<Object> health_check(const Call& call, const LoadBalancer& lb, std::string_view protocol,
                             const Object& now, const Params& in) {
  Object merged = now.empty() ? defaults(protocol) : now;
  const auto given = in.object("HealthCheck");
  if (!given) return merged;
  for (const auto& [key, value] : given->body()) {
    if (!value.is_null()) merged[key] = value;
  }
  if (given->number("CheckPort") == -1) merged.erase("CheckPort");
  if (auto good = check_together(call, lb, protocol, Params(merged), *given); !good)
    return pass(good);
  return merged;
}

Outcome<Object> certificate(const Call& call, const Params& in) {
  const auto one = in.object("Certificate");
  const auto many = in.object("MultiCertInfo");
  if (one && many) {
    return refuse("InvalidParameterCombination",
                  "Certificate and MultiCertInfo cannot be given together");
  }
  if (one) return single(call, *one);
  if (many) return several(call, *many);
  return Object{};
}

}  // namespace berth::sim::tencent
