#include "cloud/tencent/requests.h"

#include <gtest/gtest.h>

namespace berth::cloud::tencent {
namespace {

using model::HealthCheck;
using model::ListenerAttributes;
using model::ListenerId;
using model::ListenerSpec;
using model::Protocol;
using model::RuleAttributes;
using model::Scheduler;

const ListenerId kId("lbl-1");

std::string text(const wire::Object& body) { return wire::to_json(body); }
std::string text(const std::optional<wire::Object>& body) {
  return body ? wire::to_json(*body) : "nothing";
}

ListenerSpec at(model::Port port, Protocol protocol = Protocol::tcp) {
  return model::plain_listener(protocol, {port, port}, fmt::format("b-{}", port));
}

std::string created(const std::vector<ListenerSpec>& specs) {
  std::vector<const ListenerSpec*> list;
  for (const ListenerSpec& spec : specs) list.push_back(&spec);
  return text(create_listeners_body("lb-1", list));
}

TEST(CreateListener, NamesPortsInOrder) {
  EXPECT_EQ(created({at(30000), at(30001)}),
            R"({"LoadBalancerId":"lb-1","Ports":[30000,30001],"Protocol":"TCP",)"
            R"("ListenerNames":["b-30000","b-30001"]})");
}

TEST(CreateListener, OfARangeHasItsEnd) {
  ListenerSpec spec = at(30000, Protocol::udp);
  spec.ports.last = 30009;
  EXPECT_EQ(created({spec}), R"({"LoadBalancerId":"lb-1","Ports":[30000],"Protocol":"UDP",)"
                             R"("ListenerNames":["b-30000"],"EndPort":30009})");
}

TEST(CreateListener, HasTheAttributesOfItsRule) {
  ListenerSpec spec = at(30000);
  spec.rules[0].attributes = {.scheduler = Scheduler::least_connections,
                              .session_seconds = 60,
                              .health_check = HealthCheck{.timeout_seconds = 3,
                                                          .interval_seconds = 7,
                                                          .healthy_count = 2,
                                                          .unhealthy_count = 4,
                                                          .port = 8080}};
  EXPECT_EQ(created({spec}),
            R"({"LoadBalancerId":"lb-1","Ports":[30000],"Protocol":"TCP",)"
            R"("ListenerNames":["b-30000"],"Scheduler":"LEAST_CONN","SessionExpireTime":60,)"
            R"("HealthCheck":{"HealthSwitch":1,"TimeOut":3,"IntervalTime":7,"HealthNum":2,)"
            R"("UnHealthNum":4,"CheckPort":8080}})");
}

TEST(CreateListener, OfTlsHasItsCertificates) {
  ListenerSpec spec = at(443, Protocol::tls);
  spec.attributes.tls = model::Tls{.certificates = {{"cert-1"}}, .client_ca = {{"ca-1"}}};
  EXPECT_EQ(created({spec}),
            R"({"LoadBalancerId":"lb-1","Ports":[443],"Protocol":"TCP_SSL",)"
            R"("ListenerNames":["b-443"],)"
            R"("Certificate":{"SSLMode":"MUTUAL","CertId":"cert-1","CertCaId":"ca-1"}})");
  spec.attributes.tls = model::Tls{.certificates = {{"cert-1"}, {"cert-2"}}};
  EXPECT_NE(created({spec}).find(R"("MultiCertInfo":{"SSLMode":"UNIDIRECTIONAL",)"
                                 R"("CertList":[{"CertId":"cert-1"},{"CertId":"cert-2"}]})"),
            std::string::npos);
}

TEST(CreateListener, OfLayer7HasWhatBelongsToTheListener) {
  ListenerSpec spec = at(443, Protocol::https);
  spec.attributes = {.by_server_name = true, .keep_alive = true};
  spec.rules = {{.key = {"example.com", "/"}, .attributes = {.session_seconds = 30}}};
  EXPECT_EQ(created({spec}), R"({"LoadBalancerId":"lb-1","Ports":[443],"Protocol":"HTTPS",)"
                             R"("ListenerNames":["b-443"],"SniSwitch":1,"KeepaliveEnable":1})");
}

TEST(Check, RefusesWhatTheCloudCannotHave) {
  const auto code = [](const ListenerSpec& spec) {
    const auto checked = check_listener(spec);
    return checked ? "fine" : traits_of(checked.error().code).name;
  };
  EXPECT_EQ(code(at(1)), "fine");
  EXPECT_EQ(code(at(1, Protocol::tcp_udp)), "unsupported");
  EXPECT_EQ(code(at(1, Protocol::https)), "invalid") << "it has no certificate";
  EXPECT_EQ(code(at(1, Protocol::quic)), "invalid");
  ListenerSpec range = at(1, Protocol::http);
  range.ports.last = 9;
  EXPECT_EQ(code(range), "unsupported");
  ListenerSpec hashed = at(1);
  hashed.rules[0].attributes.scheduler = Scheduler::source_ip;
  EXPECT_EQ(code(hashed), "unsupported");
  ListenerSpec kept = at(1);
  kept.attributes.keep_alive = true;
  EXPECT_EQ(code(kept), "unsupported");
  ListenerSpec codes = at(1);
  codes.rules[0].attributes.health_check = HealthCheck{.http_path = "/", .http_codes = "200-299"};
  EXPECT_EQ(code(codes), "invalid");
  ListenerSpec both = at(1, Protocol::https);
  both.attributes = {.by_server_name = true, .tls = model::Tls{.certificates = {{"c"}}}};
  EXPECT_EQ(code(both), "invalid");
}

TEST(ModifyListener, NamesOnlyWhatChanges) {
  const ListenerAttributes there{.keep_alive = true,
                                 .tls = model::Tls{.certificates = {{"cert-1"}}}};
  EXPECT_EQ(text(modify_listener_body("lb-1", kId, there, there)), "nothing");
  ListenerAttributes wished = there;
  wished.tls->certificates = {{"cert-2"}};
  EXPECT_EQ(text(modify_listener_body("lb-1", kId, there, wished)),
            R"({"LoadBalancerId":"lb-1","ListenerId":"lbl-1",)"
            R"("Certificate":{"SSLMode":"UNIDIRECTIONAL","CertId":"cert-2"}})");
  wished = {.by_server_name = true};
  EXPECT_EQ(text(modify_listener_body("lb-1", kId, there, wished)),
            R"({"LoadBalancerId":"lb-1","ListenerId":"lbl-1","SniSwitch":1,"KeepaliveEnable":0})");
}

// What a user takes out of his YAML goes back to the default: the API would keep it.
TEST(ModifyListener, GoesBackToDefaults) {
  const RuleAttributes there{
      .scheduler = Scheduler::least_connections,
      .session_seconds = 60,
      .health_check = HealthCheck{.timeout_seconds = 10, .interval_seconds = 20, .port = 8080}};
  EXPECT_EQ(text(modify_plain_rule_body("lb-1", kId, Protocol::tcp, there, {})),
            R"({"LoadBalancerId":"lb-1","ListenerId":"lbl-1","Scheduler":"WRR",)"
            R"("SessionExpireTime":0,"HealthCheck":{"HealthSwitch":1,"TimeOut":2,)"
            R"("IntervalTime":5,"HealthNum":3,"UnHealthNum":3,"CheckPort":-1}})");
}

TEST(ModifyListener, DefaultsThatTheCloudReportsAreNoChange) {
  const RuleAttributes there{
      .health_check = HealthCheck{
          .timeout_seconds = 2, .interval_seconds = 5, .healthy_count = 3, .unhealthy_count = 3}};
  EXPECT_EQ(text(modify_plain_rule_body("lb-1", kId, Protocol::udp, there, {})), "nothing");
}

TEST(ModifyListener, SwitchesHealthChecksOffAndTheirKindBack) {
  const RuleAttributes http{.health_check = HealthCheck{.http_path = "/healthy"}};
  const RuleAttributes off{.health_check = HealthCheck{.enabled = false}};
  EXPECT_EQ(text(modify_plain_rule_body("lb-1", kId, Protocol::tcp, http, off)),
            R"({"LoadBalancerId":"lb-1","ListenerId":"lbl-1","HealthCheck":{"HealthSwitch":0}})");
  const auto plain = text(modify_plain_rule_body("lb-1", kId, Protocol::tcp, http, {}));
  EXPECT_NE(plain.find(R"("CheckType":"TCP")"), std::string::npos) << plain;
  const auto asking = text(modify_plain_rule_body("lb-1", kId, Protocol::tcp, {}, http));
  EXPECT_NE(asking.find(
                R"("CheckType":"HTTP","HttpVersion":"HTTP/1.1","HttpCheckDomain":"health.invalid",)"
                R"("HttpCheckPath":"/healthy","HttpCheckMethod":"HEAD","HttpCode":31)"),
            std::string::npos)
      << asking;
}

TEST(Rules, AreMadeWithDomainPathAndWhatTheySpeakToTargets) {
  const lb::NewRule rule{{kId, {"example.com", "/lobby"}},
                         {.scheduler = Scheduler::source_ip,
                          .to_targets = model::TargetProtocol::https,
                          .health_check = HealthCheck{.http_path = "/healthy", .http_codes = "2"},
                          .tls = model::Tls{.certificates = {{"cert-1"}}}}};
  const std::vector<const lb::NewRule*> rules{&rule};
  EXPECT_EQ(text(create_rules_body("lb-1", kId, rules)),
            R"({"LoadBalancerId":"lb-1","ListenerId":"lbl-1","Rules":[{"Domain":"example.com",)"
            R"("Url":"/lobby","Scheduler":"IP_HASH","HealthCheck":{"HealthSwitch":1,)"
            R"("HttpCheckPath":"/healthy","HttpCode":2},"ForwardType":"HTTPS",)"
            R"("Certificate":{"SSLMode":"UNIDIRECTIONAL","CertId":"cert-1"}}]})");
}

TEST(Rules, ChangeByLocationAndTheirCertificateByDomain) {
  const lb::RuleRef rule{kId, {"example.com", "/"}};
  const RuleAttributes there{.tls = model::Tls{.certificates = {{"cert-1"}}}};
  const RuleAttributes wished{.session_seconds = 30,
                              .tls = model::Tls{.certificates = {{"cert-2"}}}};
  EXPECT_EQ(text(modify_rule_body("lb-1", kId, "loc-1", there, wished)),
            R"({"LoadBalancerId":"lb-1","ListenerId":"lbl-1","LocationId":"loc-1",)"
            R"("SessionExpireTime":30})");
  EXPECT_EQ(text(modify_domain_body("lb-1", rule, there, wished)),
            R"({"LoadBalancerId":"lb-1","ListenerId":"lbl-1","Domain":"example.com",)"
            R"("Certificate":{"SSLMode":"UNIDIRECTIONAL","CertId":"cert-2"}})");
  EXPECT_EQ(text(modify_domain_body("lb-1", rule, there, {})), "nothing");
}

// Whoever speaks gRPC to targets speaks HTTP/2 to clients. Both belong to the domain.
TEST(Rules, OfGrpcAndQuicSayItOfTheirDomain) {
  const RuleAttributes grpc{.to_targets = model::TargetProtocol::grpc};
  const RuleAttributes quic{.over_quic = true};
  const lb::NewRule first{{kId, {"a.com", "/"}}, grpc};
  const lb::NewRule second{{kId, {"b.com", "/"}}, quic};
  const std::vector<const lb::NewRule*> rules{&first, &second};
  EXPECT_EQ(text(create_rules_body("lb-1", kId, rules)),
            R"({"LoadBalancerId":"lb-1","ListenerId":"lbl-1","Rules":[)"
            R"({"Domain":"a.com","Url":"/","ForwardType":"GRPC","Http2":true},)"
            R"({"Domain":"b.com","Url":"/","Quic":true}]})");
  EXPECT_EQ(text(modify_rule_body("lb-1", kId, "loc-1", grpc, quic)),
            R"({"LoadBalancerId":"lb-1","ListenerId":"lbl-1","LocationId":"loc-1",)"
            R"("ForwardType":"HTTP"})");
  EXPECT_EQ(text(modify_domain_body("lb-1", first.rule, grpc, quic)),
            R"({"LoadBalancerId":"lb-1","ListenerId":"lbl-1","Domain":"a.com","Quic":true})");
  EXPECT_EQ(text(modify_domain_body("lb-1", first.rule, quic, grpc)),
            R"({"LoadBalancerId":"lb-1","ListenerId":"lbl-1","Domain":"a.com","Http2":true,)"
            R"("Quic":false})");
  EXPECT_EQ(text(modify_domain_body("lb-1", first.rule, grpc, {})), "nothing")
      << "other rules of the domain may need HTTP/2";
}

TEST(Rules, ThatCannotBeAreNotAskedFor) {
  const auto refused = [](Protocol protocol, const RuleAttributes& wished) {
    const Result<> checked = check_rule(protocol, wished);
    return !checked && checked.error().code == Code::unsupported;
  };
  const RuleAttributes grpc{.to_targets = model::TargetProtocol::grpc};
  const RuleAttributes quic{.over_quic = true};
  const RuleAttributes by_id{.session_by_quic_id = true};
  for (const RuleAttributes& one : {grpc, quic}) {
    EXPECT_FALSE(refused(Protocol::https, one));
    EXPECT_TRUE(refused(Protocol::http, one));
    EXPECT_TRUE(refused(Protocol::tcp, one));
  }
  EXPECT_FALSE(refused(Protocol::udp, by_id));
  EXPECT_TRUE(refused(Protocol::quic, by_id));
  const RuleAttributes kept{.session_seconds = 60};
  for (const Protocol one : {Protocol::tcp, Protocol::udp, Protocol::http, Protocol::https})
    EXPECT_FALSE(refused(one, kept)) << model::to_string(one);
  for (const Protocol one : {Protocol::tls, Protocol::quic})
    EXPECT_TRUE(refused(one, kept)) << model::to_string(one);
  const RuleAttributes by_http{.health_check = HealthCheck{.http_path = "/"}};
  EXPECT_FALSE(refused(Protocol::tcp, by_http));
  EXPECT_FALSE(refused(Protocol::tls, by_http));
  EXPECT_TRUE(refused(Protocol::udp, by_http));
}

TEST(ModifyListener, SessionsAreByQuicConnectionOrByAddress) {
  const RuleAttributes by_id{.session_by_quic_id = true};
  EXPECT_EQ(text(modify_plain_rule_body("lb-1", kId, Protocol::udp, {}, by_id)),
            R"({"LoadBalancerId":"lb-1","ListenerId":"lbl-1","SessionType":"QUIC_CID"})");
  EXPECT_EQ(text(modify_plain_rule_body("lb-1", kId, Protocol::udp, by_id, {})),
            R"({"LoadBalancerId":"lb-1","ListenerId":"lbl-1","SessionType":"NORMAL"})");
}

TEST(Targets, AreRegisteredByAddressWithWeightAndLocation) {
  const std::vector<TargetLine> lines{{kId, "", {{"10.0.0.1", 80}, 10}},
                                      {kId, "loc-1", {{"10.0.0.2", 81}, 0}}};
  EXPECT_EQ(text(register_body("lb-1", lines)),
            R"({"LoadBalancerId":"lb-1","Targets":[)"
            R"({"EniIp":"10.0.0.1","Port":80,"ListenerId":"lbl-1","Weight":10},)"
            R"({"EniIp":"10.0.0.2","Port":81,"ListenerId":"lbl-1","LocationId":"loc-1",)"
            R"("Weight":0}]})");
  EXPECT_EQ(text(deregister_body("lb-1", std::span(lines).first(1))),
            R"({"LoadBalancerId":"lb-1","Targets":[)"
            R"({"EniIp":"10.0.0.1","Port":80,"ListenerId":"lbl-1"}]})");
}

TEST(Targets, WeightsKeepToTheLimitsOfACall) {
  std::vector<TargetLine> lines;
  for (int i = 0; i < 120; ++i) lines.push_back({kId, "", {{fmt::format("10.0.0.{}", i), 80}, 1}});
  for (int i = 0; i < 150; ++i)
    lines.push_back({ListenerId(fmt::format("other-{}", i)), "", {{"10.0.1.1", 80}, 1}});
  const std::vector<wire::Object> bodies = weights_bodies("lb-1", lines);
  std::size_t targets = 0;
  for (const wire::Object& body : bodies) {
    const wire::Value value(body);
    const wire::Array& list = *wire::array_at(value, "/ModifyList");
    EXPECT_LE(list.size(), kRulesPerWeights);
    for (const wire::Value& rule : list) {
      const std::size_t count = wire::array_at(rule, "/Targets")->size();
      EXPECT_LE(count, kTargetsPerRuleOfWeights);
      targets += count;
    }
  }
  EXPECT_EQ(targets, lines.size());
  EXPECT_EQ(bodies.size(), 2u);
}

// Without ids the API removes every listener of the load balancer.
TEST(RemovalOfListeners, NamesEachOfThem) {
  const auto of = [](const std::vector<model::ListenerId>& ids) {
    return delete_listeners_body("lb-1", ids);
  };
  EXPECT_EQ(of({}).error().code, Code::invalid);
  EXPECT_EQ(of({model::ListenerId("lbl-1"), model::ListenerId()}).error().code, Code::invalid);
  EXPECT_EQ(text(of({model::ListenerId("lbl-1")}).value()),
            R"({"LoadBalancerId":"lb-1","ListenerIds":["lbl-1"]})");
}

TEST(Search, ByNameAndTag) {
  const std::vector<std::pair<std::string, std::string>> tags{{"team", "rooms"}};
  EXPECT_EQ(text(search_body("rooms", tags, 100)),
            R"({"Offset":100,"Limit":100,"LoadBalancerName":"rooms",)"
            R"("Filters":[{"Name":"tag:team","Values":["rooms"]}]})");
}

}  // namespace
}  // namespace berth::cloud::tencent
