#include "claims/unbound_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "claims/test_support.h"

namespace berth::claims {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kNow;

class UnboundClaimsTest : public ::testing::Test {
 protected:
  UnboundClaimsTest() { add_indexes(store_, {}); }

  void have(model::Port port, const std::string& text) {
    api::Listener lock = testing::with_claim(testing::lock_at({.ports = {port, port}}), text);
    lock.meta.resource_version = ++version_;
    store_.put(std::move(lock));
  }
  static ledger::Claim claim(std::string token, seconds age) {
    return {.token = std::move(token), .ns = "games", .owner_uid = "set", .since = kNow - age};
  }
  std::vector<std::string> oldest(std::size_t pods) const {
    std::vector<std::string> out;
    for (const kube::ObjectKey& key : unbound_.oldest("set", pods)) out.push_back(key.name);
    return out;
  }

  ListenerStore store_;
  UnboundClaims unbound_{store_};
  kube::ResourceVersion version_ = 0;
};

TEST_F(UnboundClaimsTest, TheOldestOfAnOwnerComeFirstWithAllTheirPorts) {
  have(30000, ledger::encode(claim("young", seconds{5})));
  have(30001, ledger::encode(claim("old", seconds{50})));
  have(30002, ledger::encode(claim("old", seconds{50})));
  have(30003, ledger::encode(claim("middle", seconds{40})));
  EXPECT_EQ(unbound_.count("set"), 3u) << "Pods, not ports";
  EXPECT_THAT(oldest(1), ElementsAre("demo-tcp-30001", "demo-tcp-30002"));
  EXPECT_THAT(oldest(2), ElementsAre("demo-tcp-30001", "demo-tcp-30002", "demo-tcp-30003"));
  EXPECT_THAT(unbound_.oldest("other", 8), IsEmpty());
}

TEST_F(UnboundClaimsTest, WhatIsBoundFreedOrGoneIsNotAmongThem) {
  const std::string text = ledger::encode(claim("t", seconds{50}));
  have(30000, text);
  have(30000, ledger::encode(ledger::bound_to(claim("t", seconds{50}), "room-0", "uid-1", kNow)));
  EXPECT_EQ(unbound_.count("set"), 0u);
  have(30001, text);
  have(30001, "");
  EXPECT_EQ(unbound_.count("set"), 0u);
  have(30002, text);
  EXPECT_EQ(unbound_.count("set"), 1u);
  store_.erase({"games", "demo-tcp-30002"}, "", ++version_);
  EXPECT_EQ(unbound_.count("set"), 0u);
}

TEST_F(UnboundClaimsTest, ANameThatTookItsPortBackIsNotAmongThem) {
  ledger::Claim returned = claim("t", seconds{50});
  returned.pod_uid = "uid-of-the-former";
  have(30000, ledger::encode(returned));
  EXPECT_EQ(unbound_.count("set"), 0u);
}

}  // namespace
}  // namespace berth::claims
