#include "app/driver_set.h"

#include <gtest/gtest.h>

namespace berth::app {
namespace {

using model::Provider;

class NoDirectory final : public lb::Directory {
 public:
  std::vector<Result<model::LoadBalancerInfo>> describe(
      const Context&, const model::CredentialId&,
      std::span<const model::LoadBalancerRef> lbs) override {
    return std::vector<Result<model::LoadBalancerInfo>>(lbs.size());
  }
  Result<std::vector<lb::FoundLoadBalancer>> search(const Context&, const model::CredentialId&,
                                                    const lb::DirectoryQuery&) override {
    return std::vector<lb::FoundLoadBalancer>{};
  }
};

TEST(DriverSet, EachPartServesItsProvidersAndOneMayServeTheRest) {
  NoDirectory edge, rest;
  const lb::Drivers some =
      DriverSet({{.serves = {Provider::edge}, .seams = {.directory = &edge}}}).seams();
  EXPECT_EQ(some.of({.provider = Provider::edge})->directory, &edge);
  EXPECT_EQ(some.of({.provider = Provider::tencent}), nullptr);
  const lb::Drivers all = DriverSet({{.serves = {Provider::edge}, .seams = {.directory = &edge}},
                                     {.seams = {.directory = &rest}}})
                              .seams();
  EXPECT_EQ(all.of({.provider = Provider::edge})->directory, &edge);
  EXPECT_EQ(all.of({.provider = Provider::gcp})->directory, &rest);
}

TEST(DriverSet, WhereServersAreIsToldToThoseWhoAsk) {
  std::string told;
  DriverSet set({{}, {.avoid = [&](const OwnServers& servers) { told = servers.webhooks; }}});
  set.avoid({.webhooks = "https://127.0.0.1:9443"});
  EXPECT_EQ(told, "https://127.0.0.1:9443");
}

}  // namespace
}  // namespace berth::app
