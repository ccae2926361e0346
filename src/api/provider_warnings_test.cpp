#include "api/provider_warnings.h"

#include <gtest/gtest.h>

#include "api/test_ingress.h"

namespace berth::api {
namespace {

using model::Provider;
using Texts = std::vector<std::string>;

std::string warning(std::string_view object, std::string_view field, std::string_view found,
                    std::string_view title) {
  return fmt::format(
      "{}: {}: '{}' is kept and not acted on with {} load balancers, which have no "
      "such thing",
      object, field, found, title);
}

TEST(ProviderWarnings, AnIngressIsToldWhatItsLoadBalancersLack) {
  const Ingress ingress = ingress_with(
      "{rules: [{port: 443, protocol: HTTPS, certificate: {mode: UNIDIRECTIONAL, certID: c1}, "
      "layer7Routes: [{domain: a, forwardType: GRPC}, {domain: b, forwardType: QUIC}]}, "
      "{port: 53, protocol: UDP, listenerAttribute: {sessionType: QUIC_CID}}]}");
  const std::string object = "Ingress games/web";
  const std::string routes = "spec.rules[0].layer7Routes";
  const std::string session = "spec.rules[1].listenerAttribute.sessionType";
  EXPECT_EQ(warnings_about(ingress, {Provider::tencent}), Texts{});
  EXPECT_EQ(warnings_about(ingress, {Provider::edge, Provider::tencent}),
            (Texts{warning(object, routes + "[1].forwardType", "QUIC", "edge"),
                   warning(object, session, "QUIC_CID", "edge")}));
  EXPECT_EQ(warnings_about(ingress, {Provider::aws}),
            (Texts{warning(object, routes + "[0].forwardType", "GRPC", "AWS"),
                   warning(object, routes + "[1].forwardType", "QUIC", "AWS"),
                   warning(object, session, "QUIC_CID", "AWS")}));
}

// What some protocols have and others have not, by the provider.
TEST(ProviderWarnings, AnAttributeThatItsProtocolCannotHaveIsNamed) {
  const auto warnings = [](const std::string& protocol, const std::string& attribute,
                           Provider provider) {
    const std::string more =
        protocol == "TCP_SSL" ? ", certificate: {mode: UNIDIRECTIONAL, certID: c1}" : "";
    return warnings_about(
        ingress_with("{rules: [{port: 53, protocol: " + protocol + more +
                     ", services: [{serviceName: web, servicePort: 80}], listenerAttribute: {" +
                     attribute + "}}]}"),
        {provider});
  };
  const auto said = [](std::string_view field, std::string_view found, std::string_view protocol,
                       std::string_view title) {
    return Texts{
        fmt::format("Ingress games/web: spec.rules[0].listenerAttribute.{}: '{}' is kept "
                    "and not acted on for {} with {} load balancers, which have no such "
                    "thing there",
                    field, found, protocol, title)};
  };
  const std::string session = "sessionTime: 60";
  const std::string probe = "healthCheck: {enabled: true, httpCheckPath: /up}";
  const std::string rate = "maxRate: 100";
  EXPECT_EQ(warnings("TCP", session, Provider::tencent), Texts{});
  EXPECT_EQ(warnings("TCP_SSL", session, Provider::tencent),
            said("sessionTime", "60", "TCP_SSL", "Tencent"));
  EXPECT_EQ(warnings("TCP_SSL", session, Provider::edge), Texts{});
  EXPECT_EQ(warnings("TCP", probe, Provider::tencent), Texts{});
  EXPECT_EQ(warnings("UDP", probe, Provider::tencent),
            said("healthCheck.httpCheckPath", "/up", "UDP", "Tencent"));
  EXPECT_EQ(warnings("UDP", "healthCheck: {enabled: false, httpCheckPath: /up}", Provider::tencent),
            Texts{});
  EXPECT_EQ(warnings("TCP", probe, Provider::edge),
            said("healthCheck.httpCheckPath", "/up", "TCP", "edge"));
  EXPECT_EQ(warnings("UDP", rate, Provider::tencent), Texts{});
  EXPECT_EQ(warnings("UDP", rate, Provider::edge), said("maxRate", "100", "UDP", "edge"));
  EXPECT_EQ(warnings("HTTP", rate, Provider::tencent), said("maxRate", "100", "HTTP", "Tencent"));
  EXPECT_EQ(warnings("HTTP", rate, Provider::edge), Texts{});
}

TEST(ProviderWarnings, APoolIsToldWhichOfItsProtocolsLackIt) {
  PortPool pool;
  pool.meta.ns = kube::Interned("games");
  pool.meta.name = "rooms";
  pool.spec.pool_items = {{.item_name = "a"}, {.item_name = "b", .protocol = "TCP_SSL"}};
  pool.spec.listener_attribute = ListenerAttribute{
      .session_time = 60,
      .max_rate = 100,
      .health_check = ListenerHealthCheck{.enabled = true, .http_check_path = "/up"}};
  const std::string at = "PortPool games/rooms: spec.listenerAttribute.";
  const std::string there = " load balancers, which have no such thing there";
  EXPECT_EQ(
      warnings_about(pool, {Provider::tencent}),
      (Texts{at + "sessionTime: '60' is kept and not acted on for TCP_SSL with Tencent" + there,
             at +
                 "healthCheck.httpCheckPath: '/up' is kept and not acted on for UDP with "
                 "Tencent" +
                 there}));
  EXPECT_EQ(warnings_about(pool, {Provider::edge}),
            (Texts{at + "maxRate: '100' is kept and not acted on for TCP, UDP with edge" + there,
                   at +
                       "healthCheck.httpCheckPath: '/up' is kept and not acted on for TCP, UDP "
                       "with edge" +
                       there}));
}

TEST(ProviderWarnings, SoIsAPool) {
  PortPool pool;
  pool.meta.ns = kube::Interned("games");
  pool.meta.name = "rooms";
  EXPECT_EQ(warnings_about(pool, {Provider::edge}), Texts{});
  pool.spec.listener_attribute = ListenerAttribute{.session_type = "QUIC_CID"};
  EXPECT_EQ(warnings_about(pool, {Provider::edge}),
            Texts{warning("PortPool games/rooms", "spec.listenerAttribute.sessionType", "QUIC_CID",
                          "edge")});
  EXPECT_EQ(warnings_about(pool, {Provider::tencent}), Texts{});
}

}  // namespace
}  // namespace berth::api
