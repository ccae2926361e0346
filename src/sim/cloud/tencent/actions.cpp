#include "sim/cloud/tencent/actions.h"

namespace berth::sim::tencent {
namespace {

Field lb_id() { return text("LoadBalancerId").required(); }
Field listener_id() { return text("ListenerId").required(); }
Field port(std::string name) { return number(std::move(name)).within(1, 65535); }
Field weight() { return number("Weight").within(0, 100); }
Field on_off(std::string name) { return number(std::move(name)).within(0, 1); }
Field protocol(std::string name) {
  return text(std::move(name)).one_of({"TCP", "UDP", "HTTP", "HTTPS", "TCP_SSL", "QUIC"});
}
Field target_type() { return text("TargetType").one_of({"NODE", "TARGETGROUP", "TARGETGROUP-V2"}); }
Field scheduler(std::vector<std::string> values) {
  return text("Scheduler").one_of(std::move(values));
}
// 0 turns it off; operations refuse what lies between 0 and 30.
Field session(std::int64_t most) { return number("SessionExpireTime").within(0, most); }

Field health_check_field() {
  return object("HealthCheck",
                {on_off("HealthSwitch"), number("TimeOut").within(2, 60),
                 number("IntervalTime").within(2, 300), number("HealthNum").within(2, 10),
                 number("UnHealthNum").within(2, 10), number("HttpCode").within(1, 31),
                 text("HttpCheckPath").within(0, 200), text("HttpCheckDomain").within(0, 80),
                 text("HttpCheckMethod").one_of({"HEAD", "GET"}),
                 number("CheckPort").within(-1, 65535), text("ContextType").one_of({"HEX", "TEXT"}),
                 text("SendContext").within(0, 500), text("RecvContext").within(0, 500),
                 text("CheckType").one_of({"TCP", "HTTP", "HTTPS", "GRPC", "PING", "CUSTOM"}),
                 text("HttpVersion").one_of({"HTTP/1.0", "HTTP/1.1"}), on_off("SourceIpType"),
                 text("ExtendedCode")});
}

Field ssl_mode() { return text("SSLMode").one_of({"UNIDIRECTIONAL", "MUTUAL"}); }

Field certificate_field() {
  return object("Certificate", {ssl_mode(), text("SSLVerifyClient").one_of({"ON", "OPTIONAL"}),
                                text("CertId"), text("CertCaId"), text("CertName"), text("CertKey"),
                                text("CertContent"), text("CertCaName"), text("CertCaContent")});
}

Field certificates_field() {
  return object(
      "MultiCertInfo",
      {ssl_mode().required(), text("SSLVerifyClient").one_of({"ON", "OPTIONAL"}),
       objects("CertList", {text("CertId"), text("CertName"), text("CertContent"), text("CertKey")})
           .required()});
}

Field filters(std::size_t most, std::size_t values) {
  return objects("Filters", {text("Name").required(), texts("Values").required().at_most(values)})
      .at_most(most);
}

Field tags() {
  constexpr std::size_t kMostTags = 20;
  return objects("Tags", {text("TagKey").required(), text("TagValue").required()})
      .at_most(kMostTags);
}

// Of the calls that name one rule.
Fields one_rule(std::size_t most_targets) {
  return {lb_id(),
          listener_id(),
          objects("Targets", {port("Port"), text("Type"), text("InstanceId"), weight(),
                              text("EniIp"), text("Tag")})
              .required()
              .at_most(most_targets),
          text("LocationId"),
          text("Domain"),
          text("Url")};
}

Fields batch(std::size_t most_targets) {
  return {lb_id(), objects("Targets", {listener_id(), port("Port").required(), text("InstanceId"),
                                       text("EniIp"), weight(), text("LocationId"), text("Tag")})
                       .required()
                       .at_most(most_targets)};
}

Fields and_these(Fields fields, Fields more) {
  for (Field& one : more) fields.push_back(std::move(one));
  return fields;
}

// What CreateListener and ModifyListener have in common.
Fields listener_attributes(std::vector<std::string> schedulers) {
  return {health_check_field(),
          certificate_field(),
          certificates_field(),
          session(3600),
          scheduler(std::move(schedulers)),
          on_off("SniSwitch"),
          target_type(),
          text("SessionType").one_of({"NORMAL", "QUIC_CID"}),
          on_off("KeepaliveEnable"),
          yes_no("DeregisterTargetRst"),
          number("MaxConn"),
          number("MaxCps"),
          number("IdleConnectTimeout").within(10, 3600),
          yes_no("ProxyProtocol"),
          yes_no("SnatEnable"),
          text("DataCompressMode").one_of({"transparent", "compatibility"}),
          yes_no("RescheduleTargetZeroWeight"),
          yes_no("RescheduleUnhealthy"),
          yes_no("RescheduleExpandTarget"),
          number("RescheduleStartTime").within(0, 3600),
          number("RescheduleInterval").within(0, 3600)};
}

Fields create_listener_fields(const Limits& limits) {
  return and_these(
      {lb_id(), numbers("Ports").required().within(1, 65535).at_most(limits.create_listener_ports),
       protocol("Protocol").required(), texts("ListenerNames").within(1, 80), port("EndPort"),
       numbers("FullEndPorts").within(2, 65535), yes_no("H2cSwitch"), yes_no("SslCloseSwitch")},
      listener_attributes({"WRR", "LEAST_CONN"}));
}

Fields modify_listener_fields() {
  return and_these({lb_id(), listener_id(), text("ListenerName").within(1, 80)},
                   listener_attributes({"WRR", "LEAST_CONN", "IP_HASH"}));
}

Field forward_type() {
  return text("ForwardType").one_of({"HTTP", "HTTPS", "GRPC", "GRPCS", "TRPC"});
}

Fields rule_attributes() {
  return {session(86400),    health_check_field(), scheduler({"WRR", "LEAST_CONN", "IP_HASH"}),
          forward_type(),    text("TrpcCallee"),   text("TrpcFunc"),
          text("CookieName")};
}

Fields create_rule_fields() {
  return {lb_id(), listener_id(),
          objects("Rules", and_these({text("Domain").within(1, 80), texts("Domains").within(1, 80),
                                      text("Url").required().within(1, 200), certificate_field(),
                                      certificates_field(), yes_no("DefaultServer"),
                                      yes_no("Http2"), yes_no("Quic"), target_type()},
                                     rule_attributes()))
              .required()};
}

Fields modify_domain_fields() {
  return {lb_id(),
          listener_id(),
          text("Domain").required(),
          text("NewDomain").within(1, 80),
          texts("NewDomains").within(1, 80),
          certificate_field(),
          certificates_field(),
          yes_no("Http2"),
          yes_no("DefaultServer"),
          yes_no("Quic"),
          text("NewDefaultServerDomain")};
}

Fields describe_load_balancers_fields(const Limits& limits) {
  return {texts("LoadBalancerIds").at_most(limits.describe_load_balancers),
          text("LoadBalancerType").one_of({"OPEN", "INTERNAL"}),
          on_off("Forward"),
          text("LoadBalancerName"),
          text("Domain"),
          texts("LoadBalancerVips"),
          texts("BackendPublicIps"),
          texts("BackendPrivateIps"),
          number("Offset").within(0, 1'000'000),
          number("Limit").within(1, 100),
          text("OrderBy").one_of({"LoadBalancerName", "CreateTime", "Domain", "LoadBalancerType"}),
          on_off("OrderType"),
          text("SearchKey"),
          number("ProjectId"),
          number("WithRs").within(-1, 1),
          text("VpcId"),
          text("SecurityGroup"),
          text("MasterZone"),
          filters(10, 100),
          texts("AdditionalFields")};
}

Field snat_ips() { return objects("SnatIps", {text("SubnetId").required(), text("Ip")}); }

Fields create_load_balancer_fields(const Limits& limits) {
  return {text("LoadBalancerType").required().one_of({"OPEN", "INTERNAL"}),
          on_off("Forward"),
          text("LoadBalancerName").within(1, 80),
          text("VpcId"),
          text("SubnetId"),
          number("ProjectId"),
          text("AddressIPVersion").one_of({"IPV4", "IPV6", "IPv6FullChain"}),
          number("Number").within(1, limits.create_load_balancers),
          text("MasterZoneId"),
          text("SlaveZoneId"),
          text("ZoneId"),
          object("InternetAccessible",
                 {text("InternetChargeType"), number("InternetMaxBandwidthOut").within(1, 61440),
                  text("BandwidthpkgSubType")}),
          text("VipIsp").one_of({"CMCC", "CUCC", "CTCC", "BGP"}),
          tags(),
          text("Vip"),
          text("BandwidthPackageId"),
          object("ExclusiveCluster", {}),
          text("SlaType"),
          texts("ClusterIds"),
          text("ClientToken").within(0, 64),
          yes_no("SnatPro"),
          snat_ips(),
          text("ClusterTag"),
          text("EipAddressId"),
          yes_no("LoadBalancerPassToTarget"),
          yes_no("DynamicVip"),
          text("Egress"),
          object("LBChargePrepaid", {}),
          text("LBChargeType"),
          text("AccessLogTopicId"),
          yes_no("AdvancedRoute"),
          object("AvailableZoneAffinityInfo", {})};
}

Fields modify_load_balancer_fields() {
  return {lb_id(),
          text("LoadBalancerName").within(1, 80),
          object("TargetRegionInfo", {}),
          object("InternetChargeInfo", {}),
          yes_no("LoadBalancerPassToTarget"),
          number("SwitchFlag"),
          yes_no("SnatPro"),
          yes_no("DeleteProtect"),
          yes_no("ModifyClassicDomain"),
          text("AssociateEndpoint")};
}

std::map<std::string, Action> clb_describing(const Limits& limits) {
  return {
      {"DescribeLoadBalancers", {describe_load_balancers_fields(limits), describe_load_balancers}},
      {"DescribeListeners",
       {{lb_id(), texts("ListenerIds").at_most(limits.describe_listeners), protocol("Protocol"),
         port("Port")},
        describe_listeners}},
      {"DescribeTargets",
       {{lb_id(), texts("ListenerIds").at_most(limits.describe_targets_listeners),
         protocol("Protocol"), port("Port"), filters(10, 100)},
        describe_targets}},
      {"DescribeTargetHealth",
       {{texts("LoadBalancerIds").required().at_most(limits.health_load_balancers),
         texts("ListenerIds"), texts("LocationIds")},
        describe_target_health}},
      {"DescribeTaskStatus", {{text("TaskId"), text("DealName")}, describe_task_status}},
      {"DescribeQuota", {{}, describe_quota}}};
}

std::map<std::string, Action> clb_load_balancers(const Limits& limits) {
  return {{"CreateLoadBalancer", {create_load_balancer_fields(limits), create_load_balancer}},
          {"DeleteLoadBalancer",
           {{texts("LoadBalancerIds").required().at_most(limits.delete_load_balancers),
             yes_no("ForceDelete")},
            delete_load_balancer}},
          {"ModifyLoadBalancerAttributes",
           {modify_load_balancer_fields(), modify_load_balancer_attributes}},
          {"CreateLoadBalancerSnatIps",
           {{lb_id(), snat_ips().required(), number("Number").within(1, 10)}, create_snat_ips}},
          {"DeleteLoadBalancerSnatIps", {{lb_id(), texts("Ips").required()}, delete_snat_ips}}};
}

std::map<std::string, Action> clb_listeners(const Limits& limits) {
  return {{"CreateListener", {create_listener_fields(limits), create_listener}},
          {"ModifyListener", {modify_listener_fields(), modify_listener}},
          {"DeleteListener", {{lb_id(), listener_id()}, delete_listener}},
          {"DeleteLoadBalancerListeners",
           {{lb_id(), texts("ListenerIds").at_most(limits.delete_listeners)},
            delete_load_balancer_listeners}},
          {"CreateRule", {create_rule_fields(), create_rule}},
          {"ModifyRule",
           {and_these({lb_id(), listener_id(), text("LocationId").required(),
                       text("Url").within(1, 200), object("OAuth", {})},
                      rule_attributes()),
            modify_rule}},
          {"ModifyDomainAttributes", {modify_domain_fields(), modify_domain_attributes}},
          {"DeleteRule",
           {{lb_id(), listener_id(), texts("LocationIds"), text("Domain"), text("Url"),
             text("NewDefaultServerDomain")},
            delete_rule}}};
}

std::map<std::string, Action> clb_targets(const Limits& limits) {
  return {{"RegisterTargets", {one_rule(limits.register_targets), register_targets}},
          {"DeregisterTargets", {one_rule(limits.register_targets), deregister_targets}},
          {"ModifyTargetWeight",
           {and_these(one_rule(limits.register_targets), {weight()}), modify_target_weight}},
          {"BatchRegisterTargets", {batch(limits.batch_targets), batch_register_targets}},
          {"BatchDeregisterTargets", {batch(limits.batch_targets), batch_deregister_targets}},
          {"BatchModifyTargetWeight",
           {{lb_id(), objects("ModifyList",
                              {listener_id(),
                               objects("Targets", {port("Port"), text("Type"), text("InstanceId"),
                                                   weight(), text("EniIp"), text("Tag")})
                                   .required()
                                   .at_most(limits.weight_targets_per_rule),
                               text("LocationId"), text("Domain"), text("Url"), weight()})
                          .required()
                          .at_most(limits.weight_rules)},
            batch_modify_target_weight}}};
}

Service clb(const Limits& limits) {
  Service out{.version = "2018-03-17", .actions = clb_describing(limits)};
  out.actions.merge(clb_load_balancers(limits));
  out.actions.merge(clb_listeners(limits));
  out.actions.merge(clb_targets(limits));
  return out;
}

Field paging(std::string name) { return number(std::move(name)).within(0, 1'000'000); }

}  // namespace

std::map<std::string, Service> make_services(const Limits& limits) {
  return {{"clb", clb(limits)},
          {"vpc",
           {"2017-03-12",
            {{"DescribeAddresses",
              {{texts("AddressIds"), filters(10, 100), paging("Offset"),
                number("Limit").within(1, 100)},
               describe_addresses}}}}},
          {"cvm",
           {"2017-03-12",
            {{"DescribeInstances",
              {{texts("InstanceIds").at_most(100), filters(10, 5), paging("Offset"),
                number("Limit").within(1, 100)},
               describe_instances}}}}},
          {"cam", {"2019-01-16", {{"GetUserAppId", {{}, get_user_app_id, false}}}}},
          {"tag",
           {"2018-08-13",
            {{"TagResources",
              {{texts("ResourceList").required(), tags().required()}, tag_resources, false}}}}},
          {"ssl",
           {"2019-12-05",
            {{"DescribeCertificate",
              {{text("CertificateId").required()}, describe_certificate, false}}}}}};
}

}  // namespace berth::sim::tencent
