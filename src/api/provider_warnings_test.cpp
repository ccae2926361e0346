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
