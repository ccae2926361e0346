#include "frontend/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/keys.h"
#include "frontend/listener_object.h"
#include "frontend/test_support.h"

namespace berth::frontend {
namespace {

using claims::testing::put;
using ::testing::ElementsAre;

const model::LoadBalancerRef kEast{model::Provider::tencent, "ap-east", "lb-1"};
const model::LoadBalancerRef kWest{model::Provider::tencent, "ap-west", "lb-1"};
const model::LoadBalancerDefaults kDefaults{model::Provider::tencent, "ap-x"};
const std::string kEastSuffix = "-348196ba";
const std::string kWestSuffix = "-e43608d0";

class NamesTest : public ::testing::Test {
 protected:
  NamesTest() { claims::add_indexes(listeners_, kDefaults); }

  // One of these load balancers' port 443, under the name that upstream has for both.
  static WantedPart part(const std::string& name, const model::LoadBalancerRef& lb) {
    return {
        .name = name,
        .listeners = {
            {.name = "lb-1-443",
             .part = name,
             .lb = lb,
             .spec = {.load_balancer_id = lb.region + ":lb-1", .port = 443, .protocol = "TCP"}}}};
  }
  api::Listener made(const std::string& name, const model::LoadBalancerRef& lb) {
    api::Listener out;
    out.meta = {.ns = kube::Interned("games"), .name = name, .uid = "uid-of-" + name};
    out.meta.owners = {{.kind = kube::Interned("Stage"),
                        .name = "main",
                        .uid = "uid-of-main",
                        .controller = true}};
    out.spec = {.load_balancer_id = lb.region + ":lb-1", .port = 443, .protocol = "TCP"};
    put(out.meta.annotations, claims::kItemAnnotation, "east");
    const claims::Marks marks =
        claims::testing::sealer().marks(*claims::identity_without_seal(out, kDefaults));
    put(out.meta.annotations, claims::kBalancerAnnotation, marks.balancer);
    put(out.meta.annotations, claims::kSealAnnotation, marks.seal);
    return out;
  }
  void have(api::Listener listener) {
    listener.meta.resource_version = ++version_;
    listeners_.put(std::move(listener));
  }
  std::vector<std::string> names(std::vector<WantedPart> parts) {
    settle_names(owner_, parts, {listeners_, claims::testing::sealer(), kDefaults});
    std::vector<std::string> out;
    for (const WantedPart& one : parts)
      for (const WantedListener& listener : one.listeners) out.push_back(listener.name);
    return out;
  }

  const Owner owner_ = testing::stage("main");
  claims::ListenerStore listeners_;
  kube::ResourceVersion version_ = 0;
};

TEST_F(NamesTest, OfOneOwnerTheSecondGetsASuffixAndBothKeepTheirs) {
  EXPECT_THAT(names({part("east", kEast), part("west", kWest)}),
              ElementsAre("lb-1-443", "lb-1-443" + kWestSuffix));
  have(made("lb-1-443", kEast));
  have(made("lb-1-443" + kWestSuffix, kWest));
  EXPECT_THAT(names({part("west", kWest), part("east", kEast)}),
              ElementsAre("lb-1-443" + kWestSuffix, "lb-1-443"))
      << "whatever their order is by now";
  EXPECT_THAT(names({part("west", kWest)}), ElementsAre("lb-1-443" + kWestSuffix));
}

TEST_F(NamesTest, ASuffixStaysWhenTheNameIsFreeAgain) {
  have(made("lb-1-443" + kWestSuffix, kWest));
  EXPECT_THAT(names({part("west", kWest)}), ElementsAre("lb-1-443" + kWestSuffix));
  EXPECT_THAT(names({part("east", kEast)}), ElementsAre("lb-1-443"));
}

TEST_F(NamesTest, ANameThatAnotherOwnersListenerHasElsewhereIsLeftToIt) {
  have(made("lb-1-443", kEast));
  EXPECT_THAT(names({part("west", kWest)}), ElementsAre("lb-1-443" + kWestSuffix));
  EXPECT_THAT(names({part("east", kEast)}), ElementsAre("lb-1-443"))
      << "who has the port of one load balancer, grants decide";
}

// Else a pool would leave its Listeners, and their rooms, for others.
TEST_F(NamesTest, WhatSomebodyWritesOnAListenerTakesNoNameAway) {
  api::Listener edited = made("lb-1-443", kEast);
  put(edited.meta.annotations, claims::kBalancerAnnotation, model::canonical(kWest));
  have(edited);
  EXPECT_THAT(names({part("east", kEast)}), ElementsAre("lb-1-443"));
  api::Listener forged = made("lb-1-443" + kEastSuffix, kEast);
  put(forged.meta.annotations, claims::kSealAnnotation, "k1.forged");
  have(forged);
  EXPECT_THAT(names({part("east", kEast)}), ElementsAre("lb-1-443"));
  listeners_.erase({"games", "lb-1-443"}, "uid-of-lb-1-443", ++version_);
  EXPECT_THAT(names({part("east", kEast)}), ElementsAre("lb-1-443"));
}

TEST_F(NamesTest, AForeignListenerOfAnotherLoadBalancerIsNotInTheWay) {
  api::Listener foreign = made("lb-1-443", kEast);
  foreign.meta.annotations.clear();
  put(foreign.meta.labels, api::kOwnerKindKey, "Ingress");
  have(foreign);
  EXPECT_THAT(names({part("west", kWest)}), ElementsAre("lb-1-443" + kWestSuffix));
  EXPECT_THAT(names({part("east", kEast)}), ElementsAre("lb-1-443")) << "it is, and this is told";
}

// One want of TCP or UDP 443, whose names leave that out while they can.
WantedPart part_of(const std::string& protocol, const model::LoadBalancerRef& lb = kEast) {
  const std::string transport = protocol == "UDP" ? "udp" : "tcp";
  return {
      .name = protocol,
      .listeners = {
          {.name = "lb-1-443",
           .other_name = "lb-1-" + transport + "-443",
           .part = protocol,
           .lb = lb,
           .spec = {.load_balancer_id = lb.region + ":lb-1", .port = 443, .protocol = protocol}}}};
}

TEST_F(NamesTest, OfTcpAndUdpTheSecondHasItsProtocolInItsName) {
  EXPECT_THAT(names({part_of("TCP"), part_of("UDP")}), ElementsAre("lb-1-443", "lb-1-udp-443"));
  EXPECT_THAT(names({part_of("UDP")}), ElementsAre("lb-1-443"));
  EXPECT_THAT(names({part_of("TCP"), part_of("UDP"), part_of("TCP", kWest), part_of("UDP", kWest)}),
              ElementsAre("lb-1-443", "lb-1-udp-443", "lb-1-tcp-443" + kWestSuffix,
                          "lb-1-udp-443" + kWestSuffix));
}

TEST_F(NamesTest, WhoeverHadTheNameFirstKeepsIt) {
  api::Listener udp = made("lb-1-443", kEast);
  udp.spec.protocol = "UDP";
  put(udp.meta.annotations, claims::kSealAnnotation,
      claims::testing::sealer().marks(*claims::identity_of(udp)).seal);
  have(udp);
  EXPECT_THAT(names({part_of("TCP"), part_of("UDP")}), ElementsAre("lb-1-tcp-443", "lb-1-443"));
  have(made("lb-1-tcp-443", kEast));
  EXPECT_THAT(names({part_of("TCP")}), ElementsAre("lb-1-tcp-443"));
  listeners_.erase({"games", "lb-1-443"}, "uid-of-lb-1-443", ++version_);
  EXPECT_THAT(names({part_of("TCP")}), ElementsAre("lb-1-tcp-443")) << "also when it is free again";
}

TEST_F(NamesTest, AProtocolThatSomebodyWritesTakesNoNameAway) {
  api::Listener edited = made("lb-1-443", kEast);
  edited.spec.protocol = "UDP";
  have(edited);
  EXPECT_THAT(names({part_of("TCP")}), ElementsAre("lb-1-443"));
}

// Claims are found by the names of their slots.
TEST_F(NamesTest, SlotsKeepTheirNames) {
  have(made("lb-1-443", kEast));
  WantedPart slot = part("west", kWest);
  slot.listeners[0].leads = Leads::by_claim;
  EXPECT_THAT(names({slot}), ElementsAre("lb-1-443"));
}

}  // namespace
}  // namespace berth::frontend
