#include "sim/cloud/tencent/encode.h"

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>

namespace berth::sim::tencent {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

Value text_or_null(const std::string& text) { return text.empty() ? Value(nullptr) : Value(text); }

bool is_ipv6(std::string_view address) { return address.find(':') != std::string_view::npos; }

std::vector<std::string> of_family(const std::vector<std::string>& addresses, bool ipv6) {
  std::vector<std::string> out;
  std::ranges::copy_if(addresses, std::back_inserter(out),
                       [&](const std::string& one) { return is_ipv6(one) == ipv6; });
  return out;
}

Array encode_tags(const std::vector<Tag>& tags) {
  Array out;
  for (const Tag& tag : tags) out.push_back(Object{{"TagKey", tag.key}, {"TagValue", tag.value}});
  return out;
}

Object encode_rule(const Rule& rule, const std::string& listener) {
  return {{"LocationId", rule.id},
          {"ListenerId", listener},
          {"Domain", rule.domain()},
          {"Domains", texts_to_json(rule.domains)},
          {"Url", rule.url},
          {"SessionExpireTime", rule.session_seconds},
          {"HealthCheck", rule.health_check},
          {"Certificate", encode_certificate(rule.certificate)},
          {"Scheduler", rule.scheduler},
          {"ForwardType", rule.forward_type},
          {"TargetType", rule.target_type},
          {"DefaultServer", rule.default_server},
          {"Http2", rule.http2},
          {"HttpGzip", true},
          {"BeAutoCreated", false},
          {"QuicStatus", rule.quic ? "QUIC_ACTIVE" : "QUIC_INACTIVE"},
          {"RewriteTarget", Object{{"TargetListenerId", nullptr}, {"TargetLocationId", nullptr}}},
          {"CreateTime", local_time(rule.created)}};
}

// What a listener of layer 4 says of its only rule, and one of layer 7 of none.
void add_only_rule(Object& out, const Listener& listener) {
  const Rule* only =
      is_layer7(listener.protocol) || listener.rules.empty() ? nullptr : &listener.rules.front();
  out["HealthCheck"] = only == nullptr ? Value(nullptr) : Value(only->health_check);
  out["Scheduler"] = only == nullptr ? Value(nullptr) : Value(only->scheduler);
  out["SessionExpireTime"] = only == nullptr ? 0 : only->session_seconds;
  out["TargetType"] = only == nullptr ? Value(nullptr) : Value(only->target_type);
}

}  // namespace

std::string local_time(WallTime at) {
  std::string text = format_rfc3339(at + std::chrono::hours{8});
  text[10] = ' ';
  text.pop_back();
  return text;
}

Value encode_certificate(const Object& certificate) {
  return certificate.empty() ? Value(nullptr) : Value(certificate);
}

Object encode_load_balancer(const LoadBalancer& lb) {
  Array snat_ips;
  for (const std::string& ip : lb.snat_ips)
    snat_ips.push_back(Object{{"SubnetId", lb.subnet_id}, {"Ip", ip}});
  const std::vector<std::string> ipv6 = of_family(lb.vips, true);
  Array flags;
  if (lb.delete_protect) flags.emplace_back("DeleteProtect");
  if (!lb.domain.empty()) flags.emplace_back("IsDomainCLB");
  return {{"LoadBalancerId", lb.id},
          {"LoadBalancerName", lb.name},
          {"LoadBalancerType", lb.type},
          {"Forward", lb.forward},
          {"Domain", lb.domain},
          {"LoadBalancerDomain", text_or_null(lb.domain)},
          {"LoadBalancerVips", texts_to_json(of_family(lb.vips, false))},
          {"AddressIPVersion", lb.ip_version},
          {"AddressIPv6", ipv6.empty() ? Value(nullptr) : Value(ipv6.front())},
          {"IPv6Mode", text_or_null(lb.ipv6_mode)},
          {"Status", lb.normal ? 1 : 0},
          {"StatusTime", local_time(lb.created)},
          {"CreateTime", local_time(lb.created)},
          {"ProjectId", 0},
          {"VpcId", lb.vpc_id},
          {"SubnetId", lb.subnet_id},
          {"Tags", encode_tags(lb.tags)},
          {"SecureGroups", Array{}},
          {"TargetRegionInfo", Object{{"Region", lb.region}, {"VpcId", lb.vpc_id}}},
          {"VipIsp", lb.vip_isp},
          {"SlaType", lb.sla_type},
          {"ChargeType", lb.charge_type},
          {"NetworkAttributes", nullptr},
          {"SnatPro", lb.snat_pro},
          {"SnatIps", std::move(snat_ips)},
          {"LoadBalancerPassToTarget", lb.pass_to_target},
          {"AttributeFlags", std::move(flags)},
          {"TargetCount", target_count(lb)},
          {"Isolation", 0},
          {"IsBlock", false},
          {"IsDDos", false}};
}

Object encode_listener(const Listener& listener) {
  Array rules;
  if (is_layer7(listener.protocol)) {
    for (const Rule& rule : listener.rules) rules.push_back(encode_rule(rule, listener.id));
  }
  Object out{{"ListenerId", listener.id},
             {"ListenerName", listener.name},
             {"Protocol", listener.protocol},
             {"Port", listener.port},
             {"EndPort", listener.end_port},
             {"Certificate", encode_certificate(listener.certificate)},
             {"SniSwitch", listener.sni},
             {"KeepaliveEnable", listener.keepalive},
             {"SessionType", listener.session_type},
             {"DeregisterTargetRst", listener.deregister_rst},
             {"MaxConn", listener.max_conn},
             {"MaxCps", listener.max_cps},
             {"IdleConnectTimeout", listener.idle_timeout},
             {"Toa", false},
             {"AttrFlags", Array{}},
             {"Rules", std::move(rules)},
             {"CreateTime", local_time(listener.created)}};
  add_only_rule(out, listener);
  return out;
}

Object encode_backend(const Target& target) {
  return {{"Type", target.type},
          {"InstanceId", target.instance_id},
          {"InstanceName", ""},
          {"Port", target.port},
          {"Weight", target.weight},
          {"PrivateIpAddresses", Array{Value(target.ip)}},
          {"PublicIpAddresses", Array{}},
          {"RegisteredTime", local_time(target.registered)},
          {"EniId", ""},
          {"Tag", text_or_null(target.tag)},
          {"Zone", ""}};
}

}  // namespace berth::sim::tencent
