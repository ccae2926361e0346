#include "claims/seal.h"

#include <gtest/gtest.h>

#include "claims/pod_seal.h"
#include "claims/test_support.h"

namespace berth::claims {
namespace {

using testing::kNow;
using testing::lock_at;
using testing::peer_at;
using testing::Place;
using testing::put;
using testing::sealed;

Sealer with_keys(std::vector<crypto::Key> keys) {
  auto ring = std::make_shared<const crypto::KeyRing>(std::move(keys));
  return Sealer([ring] { return ring; });
}
crypto::Key key(std::string id, WallTime made) {
  return {.id = id, .bytes = Secret(std::string(32, id.back())), .made = made};
}

TEST(Seal, IsOfOneListenerAsItWasMade) {
  const api::Listener own = sealed(lock_at({}));
  EXPECT_EQ(testing::sealer().judge(own), Trust::ours);
  const auto changed = [&](const auto& change) {
    api::Listener other = own;
    change(other);
    return testing::sealer().judge(other);
  };
  using L = api::Listener;
  EXPECT_EQ(changed([](L& l) { l.meta.ns = kube::Interned("evil"); }), Trust::forged);
  EXPECT_EQ(changed([](L& l) { l.meta.name = "copied"; }), Trust::forged);
  EXPECT_EQ(changed([](L& l) { l.spec.port = 30001; }), Trust::forged);
  EXPECT_EQ(changed([](L& l) { l.spec.end_port = 30009; }), Trust::forged);
  EXPECT_EQ(changed([](L& l) { l.spec.protocol = "UDP"; }), Trust::forged);
  EXPECT_EQ(changed([](L& l) { l.meta.owners = std::vector<kube::OwnerReference>{}; }),
            Trust::forged);
  EXPECT_EQ(changed([](L& l) { put(l.meta.annotations, kBalancerAnnotation, "edge///other"); }),
            Trust::forged);
  EXPECT_EQ(changed([](L& l) { put(l.meta.annotations, kItemAnnotation, "other"); }),
            Trust::forged);
  EXPECT_EQ(changed([](L& l) { put(l.meta.annotations, kPeersAnnotation, "other"); }),
            Trust::forged);
  EXPECT_EQ(changed([](L& l) { put(l.meta.annotations, kSealAnnotation, "k1.AAAA"); }),
            Trust::forged);
  // What changes while it lives.
  EXPECT_EQ(changed([](L& l) { l = testing::leading_to(l, "10.0.0.1"); }), Trust::ours);
  EXPECT_EQ(changed([](L& l) { l = testing::with_claim(l, std::string("somebody")); }),
            Trust::ours);
}

// Nobody but the API server says when an object was made.
TEST(Seal, WhatIsYoungerThanOurKeysMustHaveOne) {
  const Sealer sealer = with_keys({key("k2", kNow)});
  api::Listener listener = sealed(lock_at({}));  // with k1, which is lost
  listener.meta.created = kNow - std::chrono::hours{1};
  EXPECT_EQ(sealer.judge(listener), Trust::unjudged);
  EXPECT_TRUE(sealer.may_seal_again(listener));
  listener.meta.created = kNow + std::chrono::hours{1};
  EXPECT_EQ(sealer.judge(listener), Trust::forged);

  put(listener.meta.annotations, kSealAnnotation, "");
  EXPECT_EQ(sealer.judge(listener), Trust::forged);
  EXPECT_FALSE(sealer.may_seal_again(listener));
  listener.meta.created = kNow - std::chrono::hours{1};
  EXPECT_EQ(sealer.judge(listener), Trust::unsealed);
}

TEST(Seal, OfAnOlderKeyIsGoodAndMadeAnewSomeDay) {
  const Sealer before = with_keys({key("k1", kNow)});
  const Sealer after = with_keys({key("k1", kNow), key("k2", kNow + std::chrono::hours{1})});
  api::Listener listener = lock_at({});
  const Marks marks = before.marks(*identity_without_seal(listener, {}));
  put(listener.meta.annotations, kSealAnnotation, marks.seal);
  EXPECT_TRUE(before.is_current(listener));
  EXPECT_EQ(after.judge(listener), Trust::ours);
  EXPECT_FALSE(after.is_current(listener));
}

// What one ring said of a text is not what another one says of it, also when they come and go.
TEST(Seal, IsJudgedByTheRingThatIsAsked) {
  const api::Listener own = sealed(lock_at({}));
  api::Listener longer = own;
  put(longer.meta.annotations, kSealAnnotation,
      "0:" + std::string(kube::get(own.meta.annotations, kSealAnnotation)));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(testing::sealer().judge(own), Trust::ours);
    EXPECT_NE(testing::sealer().judge(longer), Trust::ours);
    crypto::Key other = key("k1", kNow);
    other.bytes = Secret(std::string(32, static_cast<char>('A' + i)));
    const Sealer sealer = with_keys({other});
    EXPECT_EQ(sealer.judge(own), Trust::forged) << i;
    EXPECT_EQ(sealer.judge(own), Trust::forged) << i;
  }
}

TEST(Holdings, AreOfListenersThatWeMade) {
  ListenerStore store;
  add_indexes(store, {});
  kube::ResourceVersion version = 0;
  const auto have = [&](api::Listener listener) {
    listener.meta.resource_version = ++version;
    store.put(std::move(listener));
  };
  const auto at = [](model::Port port, WallTime made) {
    api::Listener listener = sealed(peer_at({.ports = {port, port}}));
    listener.meta.created = made;
    return listener;
  };
  have(at(30001, kNow));
  have(at(30000, kNow - std::chrono::hours{1}));
  api::Listener forged = at(30002, kNow);
  forged.spec.port = 30009;
  have(forged);
  api::Listener unsealed = at(30003, WallTime{} - std::chrono::hours{1});
  put(unsealed.meta.annotations, kSealAnnotation, "");
  have(unsealed);
  const auto ports = [&](const std::vector<ledger::Grant>& grants) {
    std::vector<model::Port> out;
    for (const ledger::Holding& one : holdings_on(store, "edge.demo", testing::sealer(), grants))
      out.push_back(one.ports.first);
    return out;
  };
  EXPECT_EQ(ports({}), (std::vector<model::Port>{30000, 30001})) << "the oldest first";
  const ledger::Grant own{.ports = {30000, 30005},
                          .owner = {"PortPool", "games", "rooms", "uid-of-rooms"},
                          .item = "item1"};
  EXPECT_EQ(ports({own}), (std::vector<model::Port>{30003, 30000, 30001}))
      << "of the version before us, inside a grant of its owner";
}

TEST(PodSeal, IsOfWhatWasGivenToWhom) {
  const crypto::KeyRing& ring = *testing::sealer().ring();
  const std::vector<api::PortBindingItem> told{{.pool_name = "rooms",
                                                .pool_namespace = "games",
                                                .pool_item_name = "item1",
                                                .protocol = "TCP",
                                                .start_port = 30000,
                                                .rs_start_port = 8000}};
  const std::string seal = seal_ports(ring, {"token", "games", told}, "request");
  const auto judged = [&](std::string_view token, std::string_view ns, const auto& entries) {
    return judge_ports(ring, {token, ns, entries}, seal).verdict;
  };
  EXPECT_EQ(judged("token", "games", told), crypto::SealVerdict::good);
  EXPECT_EQ(judge_ports(ring, {"token", "games", told}, seal).request, "request");
  EXPECT_EQ(judged("other", "games", told), crypto::SealVerdict::forged);
  EXPECT_EQ(judged("token", "evil", told), crypto::SealVerdict::forged);
  auto moved = told;
  moved[0].start_port = 30001;
  EXPECT_EQ(judged("token", "games", moved), crypto::SealVerdict::forged);
  auto more = told;
  more.push_back(moved[0]);
  EXPECT_EQ(judged("token", "games", more), crypto::SealVerdict::forged);
  auto addressed = told;
  addressed[0].pool_item_load_balancers = {{.id = "lb-1", .ips = {"192.0.2.1"}}};
  EXPECT_EQ(judged("token", "games", addressed), crypto::SealVerdict::good)
      << "addresses of load balancers change while a Pod lives";
  EXPECT_EQ(judge_ports(ring, {"token", "games", told}, "").verdict, crypto::SealVerdict::absent);
  EXPECT_EQ(judge_ports(ring, {"token", "games", told}, "no seal").verdict,
            crypto::SealVerdict::forged);
}

}  // namespace
}  // namespace berth::claims
