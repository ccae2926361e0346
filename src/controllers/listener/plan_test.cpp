#include "controllers/listener/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::controllers::listener {
namespace {

TEST(ListenerNaming, NoClusterTakesAnothersListenersForItsOwn) {
  const Naming ours{.cluster_id = "berth"};
  for (const char* other : {"berth-2", "berth2", "b", "berth-"}) {
    api::Listener listener;
    listener.meta.name = "room-1";
    const engine::Wish wish = name_only(listener, {}, {.cluster_id = other});
    EXPECT_FALSE(wish.name.starts_with(ours.prefix())) << wish.name;
  }
}

TEST(ListenerNaming, AClusterIdIsALabel) {
  for (const char* good : {"berth", "a", "0", "prod-eu-1"}) EXPECT_TRUE(check_cluster_id(good));
  for (const std::string& bad :
       {std::string(), std::string("-a"), std::string("a-"), std::string("a_b"), std::string("A"),
        std::string("a.b"), std::string("a b"), std::string(64, 'a')}) {
    EXPECT_FALSE(check_cluster_id(bad)) << bad;
  }
}

// Somebody wrote nonsense into its spec: what it had at the provider is still its own.
TEST(ListenerNaming, AListenerThatCannotBeReadStillNamesWhatItHas) {
  api::Listener listener;
  listener.meta.name = "room-1";
  listener.spec.protocol = "carrier pigeon";
  listener.status.listener_id = "lbl-7";
  const Naming naming{.cluster_id = "berth"};
  ASSERT_FALSE(wish_of(listener, naming));
  const engine::Wish wish = name_only(listener, {.id = "demo"}, naming);
  EXPECT_EQ(wish.name, "berth_room-1");
  EXPECT_EQ(wish.known_id, "lbl-7");
  EXPECT_FALSE(wish.spec);
}

}  // namespace
}  // namespace berth::controllers::listener
