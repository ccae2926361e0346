#include "cloud/tencent/answers.h"

#include <gtest/gtest.h>

namespace berth::cloud::tencent {
namespace {

using model::Protocol;

wire::Value json(std::string_view text) {
  Result<wire::Value> value = wire::parse_json(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : wire::Value{};
}

TEST(DescribeListeners, ShowsALayer4ListenerWithItsRule) {
  const auto listeners = decode_listeners(json(R"({"Listeners":[{
    "ListenerId":"lbl-1","ListenerName":"b-30000","Protocol":"TCP","Port":30000,"EndPort":30009,
    "Scheduler":"LEAST_CONN","SessionExpireTime":60,"SniSwitch":0,"Certificate":null,"Rules":null,
    "HealthCheck":{"HealthSwitch":1,"TimeOut":3,"IntervalTime":7,"HealthNum":2,"UnHealthNum":4,
      "CheckPort":null,"CheckType":"TCP","HttpCheckPath":"/","HttpCode":31}}]})"))
                             .value();
  ASSERT_EQ(listeners.size(), 1u);
  const lb::ObservedListener& seen = listeners[0].seen;
  EXPECT_EQ(seen.id, model::ListenerId("lbl-1"));
  EXPECT_EQ(seen.spec.protocol, Protocol::tcp);
  EXPECT_EQ(seen.spec.ports, (model::PortRange{30000, 30009}));
  EXPECT_EQ(seen.spec.name, "b-30000");
  ASSERT_EQ(seen.spec.rules.size(), 1u);
  const model::RuleAttributes& attributes = seen.spec.rules[0].attributes;
  EXPECT_EQ(attributes.scheduler, model::Scheduler::least_connections);
  EXPECT_EQ(attributes.session_seconds, 60u);
  EXPECT_EQ(
      *attributes.health_check,
      (model::HealthCheck{
          .timeout_seconds = 3, .interval_seconds = 7, .healthy_count = 2, .unhealthy_count = 4}))
      << "a check by TCP asks for no path";
}

TEST(DescribeListeners, ShowsRulesWithLocationsAndCertificates) {
  const auto listeners = decode_listeners(json(R"({"Listeners":[{
    "ListenerId":"lbl-1","ListenerName":"b-443","Protocol":"HTTPS","Port":443,"EndPort":0,
    "SniSwitch":1,"KeepaliveEnable":1,"Rules":[
      {"LocationId":"loc-2","Domain":"b.example.com","Url":"/","Scheduler":"IP_HASH",
       "ForwardType":"HTTPS","Certificate":{"SSLMode":"UNIDIRECTIONAL","CertId":"cert-2"}},
      {"LocationId":"loc-1","Domain":"a.example.com","Url":"/","DefaultServer":true,
       "Certificate":{"SSLMode":"MUTUAL","CertId":"cert-1","CertCaId":"ca-1",
                      "ExtCertIds":["cert-3"]}}]}]})"))
                             .value();
  ASSERT_EQ(listeners.size(), 1u);
  const model::ListenerSpec& spec = listeners[0].seen.spec;
  EXPECT_EQ(spec.ports, (model::PortRange{443, 443}));
  EXPECT_TRUE(spec.attributes.by_server_name);
  EXPECT_TRUE(spec.attributes.keep_alive);
  ASSERT_EQ(spec.rules.size(), 2u) << "sorted by key";
  EXPECT_EQ(spec.rules[0].key, model::RuleKey("a.example.com", "/"));
  EXPECT_EQ(*spec.rules[0].attributes.tls,
            (model::Tls{.certificates = {{"cert-1"}, {"cert-3"}}, .client_ca = {{"ca-1"}}}));
  EXPECT_EQ(spec.rules[1].attributes.to_targets, model::TargetProtocol::https);
  EXPECT_EQ(spec.rules[1].attributes.scheduler, model::Scheduler::source_ip);
  EXPECT_EQ(listeners[0].locations.at({"b.example.com", "/"}), "loc-2");
  EXPECT_EQ(listeners[0].default_domain, "a.example.com");
}

TEST(DescribeListeners, ShowsHowClientsAndTargetsAreSpokenTo) {
  const auto listeners = decode_listeners(json(R"({"Listeners":[
    {"ListenerId":"lbl-1","Protocol":"HTTPS","Port":443,"Rules":[
      {"LocationId":"loc-1","Domain":"a.com","Url":"/","ForwardType":"GRPC","Http2":true,
       "QuicStatus":"QUIC_INACTIVE"},
      {"LocationId":"loc-2","Domain":"b.com","Url":"/","ForwardType":"GRPC","Http2":false},
      {"LocationId":"loc-3","Domain":"c.com","Url":"/","ForwardType":"HTTP",
       "QuicStatus":"QUIC_ACTIVE"}]},
    {"ListenerId":"lbl-2","Protocol":"UDP","Port":53,"SessionType":"QUIC_CID"}]})"))
                             .value();
  ASSERT_EQ(listeners.size(), 2u);
  const auto& rules = listeners[0].seen.spec.rules;
  EXPECT_EQ(rules[0].attributes.to_targets, model::TargetProtocol::grpc);
  EXPECT_FALSE(rules[0].attributes.over_quic);
  for (const auto wished : {model::TargetProtocol::http, model::TargetProtocol::grpc})
    EXPECT_NE(rules[1].attributes.to_targets, wished) << "somebody switched HTTP/2 off";
  EXPECT_TRUE(rules[2].attributes.over_quic);
  EXPECT_TRUE(listeners[1].seen.spec.rules.front().attributes.session_by_quic_id);
}

TEST(DescribeListeners, OneOfAnUnknownKindTakesItsPort) {
  const auto listeners =
      decode_listeners(
          json(R"({"Listeners":[{"ListenerId":"lbl-1","Protocol":"NEW","Port":30000}]})"))
          .value();
  ASSERT_EQ(listeners.size(), 1u);
  EXPECT_EQ(listeners[0].seen.spec.ports.first, 30000);
  const Protocol protocol = listeners[0].seen.spec.protocol;
  EXPECT_TRUE(model::takes(protocol, model::Transport::tcp));
  EXPECT_TRUE(model::takes(protocol, model::Transport::udp)) << "nobody knows which";
  EXPECT_NE(protocol, Protocol::tcp) << "it is not what somebody wished";
}

TEST(DescribeListeners, AnAnswerWithoutTheListDoesNotSayThatThereIsNone) {
  for (const char* text : {"{}", R"({"Listeners":null})"})
    EXPECT_EQ(decode_listeners(json(text)).error().code, Code::internal) << text;
  EXPECT_TRUE(decode_listeners(json(R"({"Listeners":[]})"))->empty());
}

TEST(DescribeTargets, AreOfListenersAndOfRules) {
  const auto targets = decode_targets(json(R"({"Listeners":[
    {"ListenerId":"lbl-1","Protocol":"TCP","Targets":[
      {"Type":"ENI","Port":81,"Weight":5,"PrivateIpAddresses":["10.0.0.2"]},
      {"Type":"ENI","Port":80,"Weight":0,"PrivateIpAddresses":["10.0.0.1"]}]},
    {"ListenerId":"lbl-2","Protocol":"HTTP","Targets":null,"Rules":[
      {"LocationId":"loc-1","Domain":"example.com","Url":"/","Targets":[
        {"Port":80,"Weight":10,"PrivateIpAddresses":["10.0.0.3"]}]}]}]})"));
  ASSERT_EQ(targets.size(), 2u);
  ASSERT_EQ(targets[0].rules.size(), 1u);
  EXPECT_EQ(targets[0].rules[0].targets,
            (std::vector<model::WeightedTarget>{{{"10.0.0.1", 80}, 0}, {{"10.0.0.2", 81}, 5}}));
  ASSERT_EQ(targets[1].rules.size(), 1u);
  EXPECT_EQ(targets[1].rules[0].location, "loc-1");
  EXPECT_EQ(targets[1].rules[0].rule.key, model::RuleKey("example.com", "/"));
}

TEST(DescribeTargetHealth, SaysWhatItsCheckFound) {
  const auto health = decode_health(json(R"({"LoadBalancers":[{"LoadBalancerId":"lb-1","Listeners":[
    {"ListenerId":"lbl-1","Protocol":"TCP","Rules":[{"LocationId":"","Domain":null,"Targets":[
      {"IP":"10.0.0.1","Port":80,"HealthStatus":true,"HealthStatusDetail":"Alive"},
      {"IP":"10.0.0.2","Port":80,"HealthStatus":false,"HealthStatusDetail":"Dead"},
      {"IP":"10.0.0.3","Port":80,"HealthStatus":false,"HealthStatusDetail":"Unknown"},
      {"IP":"10.0.0.4","Port":80,"HealthStatus":true,"HealthStatusDetail":"Close"},
      {"IP":"10.0.0.5","Port":80,"HealthStatus":false,"HealthStatusDetial":"Dead"},
      {"IP":"10.0.0.6","Port":80,"HealthStatus":true}]}]}]}]})"));
  std::vector<lb::Health> found;
  for (const lb::TargetHealth& one : health) {
    EXPECT_TRUE(one.rule.key.empty());
    found.push_back(one.health);
  }
  using enum lb::Health;
  EXPECT_EQ(found, (std::vector{healthy, unhealthy, unknown, unknown, unhealthy, healthy}));
}

TEST(DescribeLoadBalancers, SaysWhereTheyAreReached) {
  const auto found = decode_balancers(json(R"({"TotalCount":2,"LoadBalancerSet":[
    {"LoadBalancerId":"lb-1","LoadBalancerName":"rooms","LoadBalancerType":"OPEN","Domain":"",
     "LoadBalancerVips":["1.1.1.1"],"Tags":[{"TagKey":"team","TagValue":"rooms"}]},
    {"LoadBalancerId":"lb-2","LoadBalancerVips":[],"AddressIPv6":"2402::1",
     "LoadBalancerDomain":"lb-2.clb.example.com"}]})"),
                                      "ap-nanjing")
                         .value();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].ref, (model::LoadBalancerRef{model::Provider::tencent, "ap-nanjing", "lb-1"}));
  EXPECT_EQ(found[0].info.name, "rooms");
  EXPECT_EQ(found[0].info.vips, std::vector<std::string>{"1.1.1.1"});
  EXPECT_EQ(found[0].info.type, "OPEN");
  EXPECT_EQ(found[0].tags, (std::vector<lb::Tag>{{"team", "rooms"}}));
  EXPECT_EQ(found[1].info.vips, std::vector<std::string>{"2402::1"});
  EXPECT_EQ(found[1].info.dns_name, "lb-2.clb.example.com");
}

TEST(DescribeLoadBalancers, AnAnswerWithoutTheListDoesNotSayThatThereIsNone) {
  for (const char* text : {"{}", R"({"TotalCount":1,"LoadBalancerSet":null,"RequestId":"r-1"})"})
    EXPECT_EQ(decode_balancers(json(text), "").error().code, Code::internal) << text;
  EXPECT_TRUE(decode_balancers(json(R"({"LoadBalancerSet":[]})"), "")->empty());
}

TEST(DescribeQuota, HasListenersOfALoadBalancer) {
  EXPECT_EQ(decode_listener_quota(json(R"({"QuotaSet":[
    {"QuotaId":"TOTAL_OPEN_CLB_QUOTA","QuotaLimit":100},
    {"QuotaId":"TOTAL_LISTENER_QUOTA","QuotaLimit":50,"QuotaCurrent":null}]})")),
            50u);
  EXPECT_EQ(decode_listener_quota(json("{}")), 0u);
}

}  // namespace
}  // namespace berth::cloud::tencent
