// What `kubectl describe portbinding` shows of a binding's life, in a simulated world.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>

#include "pool_house.h"

namespace berth::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using wire::Value;

const std::string kEvents = "/api/v1/namespaces/games/events";
const std::string kBindings =
    "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/portbindings";

// The events on an object, in the order in which they were first said.
std::vector<Value> events_on(PoolHouse& house, std::string_view kind, std::string_view name) {
  auto events = house.cluster().list(kEvents);
  std::vector<Value> out;
  for (Value& event : events ? *events : std::vector<Value>{}) {
    if (wire::string_at(event, "/involvedObject/kind") == kind &&
        wire::string_at(event, "/involvedObject/name") == name)
      out.push_back(std::move(event));
  }
  // Their names are made from the time.
  std::ranges::sort(out, {}, [](const Value& event) {
    return std::string(wire::string_at(event, "/metadata/name"));
  });
  return out;
}

// "Ready", and "Ready x2" when it was said twice.
std::vector<std::string> story_of(PoolHouse& house, std::string_view name) {
  std::vector<std::string> out;
  for (const Value& event : events_on(house, "PortBinding", name)) {
    const auto count = wire::int_at(event, "/count").value_or(0);
    out.push_back(std::string(wire::string_at(event, "/reason")) +
                  (count == 1 ? "" : fmt::format(" x{}", count)));
  }
  return out;
}

std::string status_of(PoolHouse& house, const std::string& name) {
  const auto binding = house.cluster().ask("GET", kBindings + "/" + name);
  return binding ? std::string(wire::string_at(*binding, "/status/status")) : "gone";
}

Result<> run_until_status(PoolHouse& house, const std::string& name, std::string_view status) {
  return house.run_until([&house, name, status] { return status_of(house, name) == status; });
}

TEST(BindingEvents, TellTheLifeOfABindingOnceWhoeverLeads) {
  PoolHouse house(11, {});
  ASSERT_TRUE(house.open());
  User user(house.world());
  ASSERT_TRUE(user.create("room-0", kind_of(0))) << user.last_refusal();
  ASSERT_TRUE(house.settle());
  EXPECT_THAT(story_of(house, "room-0"), ElementsAre("CreateSuccess", "Ready"));
  const std::vector<Value> told = events_on(house, "PortBinding", "room-0");
  ASSERT_EQ(told.size(), 2u);
  for (const Value& event : told) {
    EXPECT_EQ(wire::string_at(event, "/type"), "Normal");
    EXPECT_THAT(std::string(wire::string_at(event, "/message")), HasSubstr("TCP port 8000"));
  }
  // What describes an object asks for its uid.
  const auto binding = house.cluster().ask("GET", kBindings + "/room-0");
  ASSERT_TRUE(binding);
  EXPECT_EQ(wire::string_at(told.front(), "/involvedObject/uid"),
            wire::string_at(*binding, "/metadata/uid"));
  EXPECT_EQ(events_on(house, "Pod", "room-0").size(), 1u) << "the Pod's own";

  house.world().restart(0);
  ASSERT_TRUE(house.settle());
  EXPECT_THAT(story_of(house, "room-0"), ElementsAre("CreateSuccess", "Ready"));

  user.remove("room-0");
  ASSERT_TRUE(house.settle());
  EXPECT_EQ(status_of(house, "room-0"), "gone");
  EXPECT_THAT(story_of(house, "room-0"),
              ElementsAre("CreateSuccess", "Ready", "Cleaning", "CleanSuccess"));
}

TEST(BindingEvents, TellThatAPodThatEndedIsCleanedUp) {
  PoolHouse house(12, {});
  ASSERT_TRUE(house.open());
  User user(house.world());
  ASSERT_TRUE(user.create("room-2", kind_of(2))) << user.last_refusal();
  ASSERT_TRUE(house.settle());
  user.finish("room-2");
  ASSERT_TRUE(house.settle());
  EXPECT_THAT(story_of(house, "room-2"),
              ElementsAre("CreateSuccess", "Ready", "Cleaning", "CleanSuccess"));
}

TEST(BindingEvents, TellThatANameWasKeptAndCameBack) {
  PoolHouse house(13, {});
  ASSERT_TRUE(house.open());
  User user(house.world());
  ASSERT_TRUE(user.create("room-5", kind_of(5))) << user.last_refusal();
  ASSERT_TRUE(run_until_status(house, "room-5", "Ready"));
  user.remove("room-5");
  ASSERT_TRUE(run_until_status(house, "room-5", "Cleaned"));
  house.world().restart(0);
  ASSERT_TRUE(user.create("room-5", kind_of(5))) << user.last_refusal();
  ASSERT_TRUE(house.settle());
  EXPECT_THAT(story_of(house, "room-5"),
              ElementsAre("CreateSuccess", "Ready", "Cleaning", "CleanSuccess", "Ready"));
  const std::vector<Value> told = events_on(house, "PortBinding", "room-5");
  EXPECT_THAT(std::string(wire::string_at(told.at(3), "/message")), HasSubstr("the same name"));

  user.remove("room-5");
  ASSERT_TRUE(house.settle());
  EXPECT_EQ(story_of(house, "room-5").size(), 7u) << "cleaned, and not again when it is deleted";
}

}  // namespace
}  // namespace berth::scenario
