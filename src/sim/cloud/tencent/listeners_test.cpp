// Listeners and rules: what is created, changed, refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cloud/tencent/test_client.h"

namespace berth::sim::tencent {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using wire::Array;
using wire::Object;

class Listeners : public testing::Test {
 protected:
  // The refusal of a CreateListener with these members in the place of usual ones.
  wire::Value create(Object more) {
    client.now += seconds{1};
    Object body{{"LoadBalancerId", kLb}, {"Ports", Array{8000}}, {"Protocol", "TCP"}};
    for (const auto& [name, value] : more) body[name] = value;
    return client.call("CreateListener", body);
  }
  std::string code(Object more) {
    return std::string(wire::string_at(create(std::move(more)), "/Error/Code"));
  }
  wire::Value describe(Object more = {}) {
    more["LoadBalancerId"] = kLb;
    client.now += seconds{1};
    return client.call("DescribeListeners", more);
  }
  std::string https(std::int64_t port, Object more) {
    more["Protocol"] = "HTTPS";
    return client.listeners({port}, std::move(more)).front();
  }
  Object on(const std::string& listener, Object more = {}) {
    more["LoadBalancerId"] = kLb;
    more["ListenerId"] = listener;
    return more;
  }
  std::string rule(const std::string& listener, const char* domain, const char* url) {
    const wire::Value answer = client.done(
        "CreateRule", on(listener, {{"Rules", Array{Object{{"Domain", domain}, {"Url", url}}}}}));
    return std::string(wire::string_at(answer, "/LocationIds/0"));
  }

  TestClient client;
};

TEST_F(Listeners, ManyPortsAreManyListenersInOrder) {
  const auto ids = client.listeners({31001, 31000}, {{"ListenerNames", Array{"b", "a"}}});
  ASSERT_THAT(ids, SizeIs(2));
  const wire::Value one = describe({{"ListenerIds", Array{wire::Value(ids[0])}}});
  EXPECT_EQ(wire::int_at(one, "/TotalCount"), 1);
  EXPECT_EQ(wire::int_at(one, "/Listeners/0/Port"), 31001);
  EXPECT_EQ(wire::string_at(one, "/Listeners/0/ListenerName"), "b");
  EXPECT_EQ(wire::int_at(one, "/Listeners/0/EndPort"), 0);
  EXPECT_EQ(wire::int_at(one, "/Listeners/0/HealthCheck/HealthSwitch"), 1);
  EXPECT_EQ(wire::string_at(one, "/Listeners/0/Scheduler"), "WRR");
  const wire::Value by_port = describe({{"Port", 31000}, {"Protocol", "TCP"}});
  EXPECT_EQ(wire::string_at(by_port, "/Listeners/0/ListenerId"), ids[1]);
  EXPECT_EQ(wire::int_at(describe({{"Port", 31000}, {"Protocol", "UDP"}}), "/TotalCount"), 0);
  EXPECT_EQ(wire::int_at(describe({{"ListenerIds", Array{"lbl-nothere1"}}}), "/TotalCount"), 0);
}

TEST_F(Listeners, ACallHasAtMost50PortsOr49) {
  Array ports;
  for (int i = 0; i < 50; ++i) ports.emplace_back(31000 + i);
  client.cloud.change_settings([](Settings& s) { s.limits.create_listener_ports = 49; });
  EXPECT_THAT(wire::string_at(create({{"Ports", ports}}), "/Error/Message"),
              HasSubstr("Length of `Ports` should be less than 50"));
  client.cloud.change_settings([](Settings& s) { s.limits = Limits{}; });
  EXPECT_EQ(code({{"Ports", ports}}), "");
  ports.emplace_back(32000);
  EXPECT_EQ(code({{"Ports", ports}}), "InvalidParameterValue.Length");
}

TEST_F(Listeners, QuotaIsTheAccountsOrTheInstances) {
  client.cloud.edit(kLb, [](LoadBalancer& lb) { lb.listener_quota = 1; });
  EXPECT_EQ(code({{"Ports", Array{1, 2}}}), "LimitExceeded");
  EXPECT_EQ(code({{"Ports", Array{1}}}), "");
}

TEST_F(Listeners, APortHasOneListenerOfATransport) {
  client.listeners({443});
  EXPECT_EQ(code({{"Ports", Array{443}}}), "InvalidParameter.PortCheckFailed");
  EXPECT_EQ(code({{"Ports", Array{80, 443}}}), "InvalidParameter.PortCheckFailed");
  EXPECT_EQ(code({{"Ports", Array{443}}, {"Protocol", "HTTP"}}),
            "InvalidParameter.PortCheckFailed");
  EXPECT_EQ(code({{"Ports", Array{400}}, {"EndPort", 443}}), "InvalidParameter.PortCheckFailed");
  EXPECT_EQ(code({{"Ports", Array{443}}, {"Protocol", "UDP"}}), "");
  EXPECT_EQ(code({{"Ports", Array{5, 5}}}), "InvalidParameterValue.Duplicate");
  EXPECT_EQ(code({{"Ports", Array{5, 6}}, {"ListenerNames", Array{"x"}}}),
            "InvalidParameterValue.Length");
}

TEST_F(Listeners, PortRangesNeedTheList) {
  EXPECT_EQ(code({{"Ports", Array{100, 200}}, {"EndPort", 300}}), "InvalidParameterValue.Length");
  EXPECT_EQ(code({{"Ports", Array{100}}, {"EndPort", 100}}), "InvalidParameterValue");
  EXPECT_EQ(code({{"Ports", Array{100}}, {"EndPort", 200}, {"Protocol", "HTTP"}}),
            "InvalidParameter.ProtocolCheckFailed");
  client.cloud.edit_account(kUin, [](Account& account) { account.port_ranges = false; });
  EXPECT_THAT(wire::string_at(create({{"Ports", Array{100}}, {"EndPort", 200}}), "/Error/Message"),
              HasSubstr("uin not allow to create port range listener."));
  client.cloud.edit_account(kUin, [](Account& account) { account.port_ranges = true; });
  client.listeners({100}, {{"EndPort", 200}});
  EXPECT_EQ(wire::int_at(describe(), "/Listeners/0/EndPort"), 200);
  client.cloud.edit(kLb, [](LoadBalancer& lb) { lb.type = "INTERNAL"; });
  EXPECT_EQ(code({{"Ports", Array{300}}, {"EndPort", 400}}), "UnsupportedOperation");
}

TEST_F(Listeners, CertificatesGoWithTls) {
  const Object certificate{{"SSLMode", "UNIDIRECTIONAL"}, {"CertId", "cert-one"}};
  EXPECT_EQ(code({{"Protocol", "HTTPS"}}), "InvalidParameter");
  EXPECT_EQ(code({{"Protocol", "TCP_SSL"}}), "InvalidParameter");
  EXPECT_EQ(code({{"Protocol", "TCP_SSL"}, {"Certificate", Object{{"SSLMode", "MUTUAL"}}}}),
            "MissingParameter");
  EXPECT_EQ(code({{"Protocol", "TCP_SSL"},
                  {"Certificate", Object{{"SSLMode", "MUTUAL"}, {"CertId", "a"}}}}),
            "MissingParameter");
  EXPECT_EQ(code({{"Protocol", "QUIC"},
                  {"Certificate", certificate},
                  {"MultiCertInfo", Object{{"SSLMode", "UNIDIRECTIONAL"},
                                           {"CertList", Array{Object{{"CertId", "b"}}}}}}}),
            "InvalidParameterCombination");
  client.cloud.edit_account(kUin, [](Account& account) { account.certificates.emplace(); });
  EXPECT_EQ(code({{"Protocol", "TCP_SSL"}, {"Certificate", certificate}}), "InvalidParameterValue");
  client.cloud.edit_account(kUin, [](Account& account) { account.certificates = {{"cert-one"}}; });
  const auto ids = client.listeners({443}, {{"Protocol", "TCP_SSL"}, {"Certificate", certificate}});
  EXPECT_EQ(wire::string_at(describe(), "/Listeners/0/Certificate/CertId"), "cert-one");
}

TEST_F(Listeners, HealthChecksFitTheirProtocol) {
  const auto with = [&](Object check, const char* protocol = "TCP") {
    return code({{"HealthCheck", std::move(check)}, {"Protocol", protocol}});
  };
  EXPECT_EQ(with({{"TimeOut", 5}, {"IntervalTime", 5}}), "InvalidParameterValue");
  EXPECT_EQ(with({{"CheckType", "PING"}}), "InvalidParameterValue");
  EXPECT_EQ(with({{"CheckType", "TCP"}}, "UDP"), "InvalidParameterValue");
  EXPECT_EQ(with({{"CheckType", "HTTP"}}), "InvalidParameterValue");
  EXPECT_EQ(with({{"CheckType", "CUSTOM"}, {"ContextType", "TEXT"}}), "InvalidParameterValue");
  EXPECT_EQ(with({{"CheckType", "HTTP"}, {"HttpVersion", "HTTP/1.1"}, {"HttpCheckDomain", "a.b"}}),
            "");
  client.cloud.edit(kLb, [](LoadBalancer& lb) {
    lb.ip_version = "ipv6";
    lb.listeners.clear();
  });
  EXPECT_EQ(with({{"SourceIpType", 1}}), "InvalidParameterValue");
}

TEST_F(Listeners, SessionsAndSchedulers) {
  EXPECT_EQ(code({{"SessionExpireTime", 29}}), "InvalidParameterValue.Range");
  EXPECT_EQ(code({{"Scheduler", "IP_HASH"}}), "InvalidParameterValue");
  EXPECT_EQ(code({{"SessionType", "QUIC_CID"}}), "InvalidParameterCombination");
  client.cloud.change_settings([](Settings& s) { s.unsure.session_needs_wrr = true; });
  EXPECT_EQ(code({{"SessionExpireTime", 30}, {"Scheduler", "LEAST_CONN"}}),
            "InvalidParameterCombination");
  client.cloud.change_settings([](Settings& s) { s.unsure.inapplicable_is_refused = true; });
  EXPECT_EQ(code({{"Protocol", "HTTP"}, {"Scheduler", "WRR"}}), "InvalidParameterValue");
  EXPECT_EQ(code({{"Protocol", "HTTP"}}), "");
}

TEST_F(Listeners, ModifyChangesWhatIsNamedAndKeepsTargets) {
  const auto ids = client.listeners({8000});
  client.done("RegisterTargets",
              on(ids[0], {{"Targets", Array{Object{{"EniIp", "10.0.0.1"}, {"Port", 80}}}}}));
  client.done("ModifyListener", on(ids[0], {{"ListenerName", "new"},
                                            {"SessionExpireTime", 60},
                                            {"HealthCheck", Object{{"HealthSwitch", 0}}}}));
  const wire::Value there = describe();
  EXPECT_EQ(wire::string_at(there, "/Listeners/0/ListenerName"), "new");
  EXPECT_EQ(wire::int_at(there, "/Listeners/0/SessionExpireTime"), 60);
  EXPECT_EQ(wire::int_at(there, "/Listeners/0/HealthCheck/HealthSwitch"), 0);
  EXPECT_EQ(wire::int_at(there, "/Listeners/0/HealthCheck/IntervalTime"), 5);
  EXPECT_THAT(client.cloud.load_balancer(kLb)->listeners.at(ids[0]).rules[0].targets, SizeIs(1));
  EXPECT_EQ(client.refused("ModifyListener", on("lbl-nothere1")),
            "InvalidParameter.ListenerIdNotFound");
}

TEST_F(Listeners, DeletionOfOneUnknownDeletesNone) {
  const auto ids = client.listeners({1, 2, 3});
  const Object some{{"LoadBalancerId", kLb},
                    {"ListenerIds", Array{wire::Value(ids[0]), "lbl-nothere1"}}};
  EXPECT_THAT(client.message("DeleteLoadBalancerListeners", some),
              HasSubstr("some ListenerId lbl-nothere1 not found"));
  client.done("DeleteLoadBalancerListeners",
              {{"LoadBalancerId", kLb}, {"ListenerIds", Array{wire::Value(ids[0])}}});
  EXPECT_EQ(wire::int_at(describe(), "/TotalCount"), 2);
  client.done("DeleteListener", on(ids[1]));
  EXPECT_EQ(client.refused("DeleteListener", on(ids[1])), "InvalidParameter.ListenerIdNotFound");
  client.done("DeleteLoadBalancerListeners", {{"LoadBalancerId", kLb}});
  EXPECT_EQ(wire::int_at(describe(), "/TotalCount"), 0);
}

TEST_F(Listeners, RulesHaveOneDefaultDomain) {
  const auto http = client.listeners({80}, {{"Protocol", "HTTP"}}).front();
  const std::string a = rule(http, "a.example.com", "/");
  const std::string b = rule(http, "b.example.com", "/");
  EXPECT_EQ(client.refused(
                "CreateRule",
                on(http, {{"Rules", Array{Object{{"Domain", "a.example.com"}, {"Url", "/"}}}}})),
            "InvalidParameterValue.Duplicate");
  const auto default_of = [&](const std::string& id) {
    Listener there = client.cloud.load_balancer(kLb)->listeners.at(http);
    return find_rule(there, id)->default_server;
  };
  EXPECT_TRUE(default_of(a) && !default_of(b));
  EXPECT_EQ(client.refused("ModifyDomainAttributes",
                           on(http, {{"Domain", "a.example.com"}, {"DefaultServer", false}})),
            "InvalidParameterValue");
  client.done("ModifyDomainAttributes",
              on(http, {{"Domain", "b.example.com"}, {"DefaultServer", true}}));
  EXPECT_TRUE(!default_of(a) && default_of(b));
  client.done("DeleteRule", on(http, {{"LocationIds", Array{wire::Value(b)}}}));
  EXPECT_TRUE(default_of(a));
  client.done("DeleteRule", on(http, {{"Domain", "a.example.com"}, {"Url", "/"}}));
  EXPECT_EQ(client.refused("DeleteRule", on(http, {{"LocationIds", Array{wire::Value(a)}}})),
            "InvalidParameter.LocationNotFound");
}

TEST_F(Listeners, TheDefaultDomainGoesToOneThatStays) {
  const auto http = client.listeners({80}, {{"Protocol", "HTTP"}}).front();
  const std::string a = rule(http, "a.example.com", "/");
  const std::string b = rule(http, "b.example.com", "/");
  rule(http, "c.example.com", "/");
  const auto remove_a = [&](const char* next) {
    Object out = on(http, {{"LocationIds", Array{wire::Value(a)}}});
    if (*next != 0) out["NewDefaultServerDomain"] = next;
    return out;
  };
  EXPECT_EQ(client.refused("DeleteRule", remove_a("a.example.com")),
            "InvalidParameter.LocationNotFound")
      << "it would be gone";
  client.cloud.change_settings([](Settings& s) { s.unsure.default_domain_needs_another = true; });
  EXPECT_EQ(client.refused("DeleteRule", remove_a("")), "InvalidParameterValue");
  client.done("DeleteRule", remove_a("b.example.com"));
  Listener there = client.cloud.load_balancer(kLb)->listeners.at(http);
  EXPECT_TRUE(find_rule(there, b)->default_server);
}

TEST_F(Listeners, DomainsOfSniHaveCertificates) {
  const auto id = https(443, {{"SniSwitch", 1}});
  Object wanted{{"Domain", "a.example.com"}, {"Url", "/"}};
  EXPECT_EQ(client.refused("CreateRule", on(id, {{"Rules", Array{wanted}}})), "InvalidParameter");
  wanted["Certificate"] = Object{{"SSLMode", "UNIDIRECTIONAL"}, {"CertId", "cert-a"}};
  client.done("CreateRule", on(id, {{"Rules", Array{wanted}}}));
  rule(id, "a.example.com", "/second");  // its domain has one
  client.done(
      "ModifyDomainAttributes",
      on(id, {{"Domain", "a.example.com"},
              {"Certificate", Object{{"SSLMode", "UNIDIRECTIONAL"}, {"CertId", "cert-b"}}}}));
  for (const char* path :
       {"/Listeners/0/Rules/0/Certificate/CertId", "/Listeners/0/Rules/1/Certificate/CertId"})
    EXPECT_EQ(wire::string_at(describe(), path), "cert-b");
  EXPECT_EQ(client.refused("ModifyListener", on(id, {{"SniSwitch", 0}})), "InvalidParameterValue");
}

TEST_F(Listeners, RulesChange) {
  const auto http = client.listeners({80}, {{"Protocol", "HTTP"}}).front();
  const std::string id = rule(http, "a.example.com", "/");
  client.done("ModifyRule", on(http, {{"LocationId", id},
                                      {"Url", "/new"},
                                      {"Scheduler", "IP_HASH"},
                                      {"HealthCheck", Object{{"HttpCheckPath", "/ready"}}}}));
  const wire::Value there = describe();
  EXPECT_EQ(wire::string_at(there, "/Listeners/0/Rules/0/Url"), "/new");
  EXPECT_EQ(wire::string_at(there, "/Listeners/0/Rules/0/Scheduler"), "IP_HASH");
  EXPECT_EQ(wire::string_at(there, "/Listeners/0/Rules/0/HealthCheck/HttpCheckPath"), "/ready");
  EXPECT_EQ(client.refused("ModifyRule", on(http, {{"LocationId", "loc-nothere1"}})),
            "InvalidParameter.LocationNotFound");
  const auto tcp = client.listeners({81}).front();
  EXPECT_EQ(client.refused("CreateRule",
                           on(tcp, {{"Rules", Array{Object{{"Domain", "a"}, {"Url", "/"}}}}})),
            "InvalidParameterValue");
}

TEST_F(Listeners, RulesHaveAQuota) {
  const auto http = client.listeners({80}, {{"Protocol", "HTTP"}}).front();
  Array many;
  for (int i = 0; i < 51; ++i)
    many.push_back(Object{{"Domain", "a.example.com"}, {"Url", fmt::format("/{}", i)}});
  EXPECT_EQ(client.refused("CreateRule", on(http, {{"Rules", many}})), "LimitExceeded");
}

}  // namespace
}  // namespace berth::sim::tencent
