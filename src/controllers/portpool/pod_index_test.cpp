#include "controllers/portpool/pod_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/portpool/test_support.h"

namespace berth::controllers::portpool {
namespace {

TEST(LockOf, IsTheSameWhicheverLoadBalancerAnEntryNamesFirst) {
  claims::ListenerStore listeners;
  api::Listener peer = claims::testing::peer_at({.lb = "west"});
  testing::put(peer.meta.annotations, kLockAnnotation, "east-tcp-30000");
  listeners.put(std::move(peer));
  for (const auto& order : {std::vector<std::string>{"east", "west"}, {"west", "east"}})
    EXPECT_FALSE(lock_of(testing::entry(30000, order), listeners)) << order.front();

  listeners.put(claims::testing::lock_at({.lb = "east"}));
  for (const auto& order : {std::vector<std::string>{"east", "west"}, {"west", "east"}}) {
    const claims::ListenerPtr lock = lock_of(testing::entry(30000, order), listeners);
    ASSERT_TRUE(lock) << order.front();
    EXPECT_EQ(lock->meta.name, "east-tcp-30000") << order.front();
  }
}

// The Pod whose port it was hears of it, although the Listener names nobody before and another
// after.
TEST(PodsConcerned, AreThoseThatWereToldWhateverStandsInPlaceOfAClaim) {
  kube::Store<kube::Pod> pods;
  add_pod_indexes(pods);
  kube::Pod told;
  told.meta = {.ns = kube::Interned("games"), .name = "room-0", .uid = "uid-1"};
  testing::put(told.meta.annotations, api::kPoolBindingsAnnotation,
               api::encode_pool_bindings({testing::entry(30000, {"demo"})}));
  pods.put(std::move(told));
  const claims::ListenerStore listeners;
  const auto lock_with = [](std::string claim) {
    return std::make_shared<const api::Listener>(
        claims::testing::with_claim(claims::testing::lock_at({}), std::move(claim)));
  };
  const auto unreadable = lock_with(R"({"v":99,"state":"Bound"})");
  const auto anothers = lock_with(ledger::encode(
      {.state = ledger::SlotState::claimed, .token = "t", .ns = "games", .pod_name = "room-9"}));

  using ::testing::ElementsAre;
  const kube::ObjectKey room_0{"games", "room-0"};
  const kube::ObjectKey room_9{"games", "room-9"};
  EXPECT_THAT(pods_concerned({unreadable, anothers}, listeners, pods), ElementsAre(room_0, room_9));
  EXPECT_THAT(pods_concerned({unreadable, unreadable}, listeners, pods), ElementsAre(room_0));
  EXPECT_THAT(pods_concerned({unreadable, nullptr}, listeners, pods), ElementsAre(room_0));
}

}  // namespace
}  // namespace berth::controllers::portpool
