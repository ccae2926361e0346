// Where the edge does not carry anybody: nothing that is asked for leads to this machine's own
// services, to the cloud's, or back to the edge itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using model::Transport;
using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As `berth controller --edge-address` has it.
class RefusedTargetTest : public ::testing::Test {
 protected:
  RefusedTargetTest() { edge_.driver = EdgeDriver::start({.threads = 1}).value(); }
  std::vector<model::WeightedTarget> targets_of(const model::ListenerId& id) {
    const auto listed = edge_.driver->list(edge_.context, edge_.lb).value();
    for (const lb::ObservedListener& one : listed)
      if (one.id == id) return one.spec.rules.at(0).targets;
    ADD_FAILURE() << "no listener " << id;
    return {};
  }
  model::ListenerId create(const std::string& name, model::Port port,
                           const model::RuleAttributes& attributes = {}) {
    return edge_.create(
        model::plain_listener(model::Protocol::tcp, {port, port}, name, {}, attributes));
  }

  Edge edge_;
};

TEST_F(RefusedTargetTest, AServiceOnLoopbackIsNotServed) {
  const Hand service(edge_.room_at());
  const auto port = Edge::fresh_port();
  const model::ListenerId id = create("room-7", port);
  const auto changed = edge_.change(id, {{service.at()}});
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, Code::invalid) << "given up until something else is wished";
  const std::string said = changed.error().to_string();
  EXPECT_THAT(said, HasSubstr("room-7"));
  EXPECT_THAT(said, HasSubstr(model::to_string(service.at())));
  EXPECT_THAT(said, HasSubstr("loopback"));
  EXPECT_THAT(said, HasSubstr("Pods"));
  EXPECT_THAT(targets_of(id), IsEmpty());
  EXPECT_FALSE(ask_over_tcp({edge_.vip(), port}, "ahoy", kTimeoutMs));
  EXPECT_FALSE(service.waits()) << "somebody came";
}

TEST_F(RefusedTargetTest, NeitherAreOtherPlacesThatNoPodHas) {
  const model::ListenerId id = create("room", Edge::fresh_port());
  for (const char* ip :
       {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "169.254.169.254",
        "::ffff:169.254.169.254", "fe80::1", "224.0.0.1", "ff02::1", "0.0.0.0",
        "::", "::ffff:0.0.0.0", "0.1.2.3", "255.255.255.255", "fd00:ec2::254"}) {
    const auto changed = edge_.change(id, {{{ip, 80}}});
    ASSERT_FALSE(changed) << ip;
    EXPECT_EQ(changed.error().code, Code::invalid) << ip;
    EXPECT_THAT(changed.error().to_string(), HasSubstr(ip));
  }
  EXPECT_THAT(targets_of(id), IsEmpty());
}

TEST_F(RefusedTargetTest, OthersOfTheSameCallAreServed) {
  const model::Target good{"192.0.2.7", 80};
  std::vector<lb::TargetChange> changes;
  for (const model::Target& target : {good, model::Target{"169.254.169.254", 80}, good})
    changes.push_back(
        {.rule = {create(fmt::format("room-{}", changes.size()), Edge::fresh_port()), {}},
         .add = {{target}}});
  const auto outcomes = edge_.driver->change_targets(edge_.context, edge_.lb, changes);
  EXPECT_TRUE(outcomes[0]);
  EXPECT_FALSE(outcomes[1]);
  EXPECT_TRUE(outcomes[2]);
  EXPECT_THAT(targets_of(changes[2].rule.listener), ElementsAre(model::WeightedTarget{good}));
  ASSERT_FALSE(edge_.change(changes[0].rule.listener, {{{"127.0.0.1", 80}, 5}}));
  EXPECT_THAT(targets_of(changes[0].rule.listener), ElementsAre(model::WeightedTarget{good}))
      << "who was served still is";
}

TEST_F(RefusedTargetTest, NobodyIsAskedForHisHealthThere) {
  edge_.driver = EdgeDriver::start({.threads = 1, .second = std::chrono::milliseconds{20}}).value();
  const Hand service(edge_.room_at());
  const model::RuleAttributes checked{.health_check = model::HealthCheck{.interval_seconds = 1}};
  const model::ListenerId id = create("room", Edge::fresh_port(), checked);
  ASSERT_FALSE(edge_.change(id, {{service.at()}}));
  // Rounds of questions have passed when one that is asked was found dead.
  const model::Target dead{"192.0.2.7", 80};
  const model::ListenerId other = create("other", Edge::fresh_port(), checked);
  ASSERT_TRUE(edge_.change(other, {{dead}}));
  EXPECT_TRUE(eventually([&] { return !edge_.seen(other).targets.front().healthy; }));
  EXPECT_FALSE(service.waits()) << "somebody came";
}

// As a playground has it: Pods on loopback.
class OwnPlaceTest : public ::testing::Test {
 protected:
  std::vector<TargetSnapshot> targets_of(const Edge::Door& door) const {
    return edge_.seen(door.id).targets;
  }

  Edge edge_{{.threads = 1}};
};

TEST_F(OwnPlaceTest, AListenerDoesNotLeadToAnother) {
  const auto room = edge_.open_door(Transport::tcp, {{edge_.open_room("a")}}),
             closed = edge_.open_door(Transport::tcp, {}),
             door = edge_.open_door(Transport::tcp, {});
  for (const auto& other : {room, closed, door}) {
    const auto changed = edge_.change(door.id, {{other.at}});
    ASSERT_FALSE(changed) << "a loop";
    EXPECT_EQ(changed.error().code, Code::invalid);
    EXPECT_THAT(changed.error().to_string(), HasSubstr(model::to_string(other.at)));
    EXPECT_THAT(changed.error().to_string(), HasSubstr("listener"));
  }
  EXPECT_TRUE(edge_.change(edge_.open_door(Transport::udp, {}).id, {{room.at}}))
      << "another protocol is another place";
}

TEST_F(OwnPlaceTest, NorWithOneOfItsPorts) {
  const auto room = edge_.open_door(Transport::tcp, {{edge_.open_room("a")}});
  const auto wide = edge_.open_door(Transport::tcp, {}, {}, 5);
  const model::Target below{room.at.ip, static_cast<model::Port>(room.at.port - 4)};
  EXPECT_FALSE(edge_.change(wide.id, {{below}}));
  EXPECT_TRUE(edge_.change(wide.id, {{{edge_.room_ip(), below.port}}}))
      << "the same ports elsewhere are nobody's";
}

// A Pod on the node's network may have the address that the edge has.
TEST_F(OwnPlaceTest, WhatBecomesAListenerLaterIsLeft) {
  const model::Target room = edge_.open_room_at({edge_.vip(), Edge::fresh_port()}, "a");
  const auto door = edge_.open_door(Transport::tcp, {{room}});
  EXPECT_EQ(greeting_at(door.at), "a");
  const model::ListenerId id =
      edge_.create(model::plain_listener(model::Protocol::tcp, {room.port, room.port}, "late"));
  const model::Target other = edge_.open_room("b");
  EXPECT_EQ(edge_.change(id, {{other}}).error().code, Code::already_exists);
  EXPECT_EQ(greeting_at(door.at), "a") << "a port that we did not get is the Pod's";

  edge_.places.erase(room);
  ASSERT_TRUE(eventually([&] { return edge_.change(id, {{other}}).has_value(); }));
  EXPECT_EQ(greeting_at(room), "b");
  EXPECT_THAT(targets_of(door), IsEmpty());
  EXPECT_EQ(greeting_at(door.at), "") << "it does not lead on to what is there now";
  EXPECT_EQ(edge_.change(door.id, {{room}}).error().code, Code::invalid);
}

TEST_F(OwnPlaceTest, ServersOfTheControllerAreNoRooms) {
  const auto door = edge_.open_door(Transport::tcp, {});
  const model::Target api = edge_.open_room(), webhooks = edge_.open_room(),
                      ops{"0.0.0.0", Edge::fresh_port()}, other = edge_.open_room();
  edge_.driver->set_own_endpoints(
      own_endpoints({.api_server = "https://" + model::to_string(api),
                     .webhooks = "https://" + model::to_string(webhooks),
                     .ops = "http://" + model::to_string(ops),
                     .others = {"http://" + model::to_string(other)}}));
  for (const auto& [target, what] : {std::pair{api, "API server"},
                                     {webhooks, "webhook server"},
                                     {other, "a server of the controller"},
                                     {{Edge::room_ip(), ops.port}, "metrics server"},
                                     {{"::ffff:127.0.0.1", ops.port}, "metrics server"}}) {
    const auto changed = edge_.change(door.id, {{target}});
    ASSERT_FALSE(changed) << model::to_string(target);
    EXPECT_EQ(changed.error().code, Code::invalid);
    EXPECT_THAT(changed.error().to_string(), HasSubstr(what));
  }
  EXPECT_TRUE(edge_.change(door.id, {{edge_.open_room("a")}}));
  EXPECT_EQ(greeting_at(door.at), "a");
}

TEST_F(OwnPlaceTest, AServerThatComesToWhereARoomIsTakesItsPlace) {
  const model::Target room = edge_.open_room("a"), other = edge_.open_room("b");
  const auto door = edge_.open_door(Transport::tcp, {{room}, {other}});
  edge_.driver->set_own_endpoints(own_endpoints({.ops = "http://" + model::to_string(room)}));
  EXPECT_EQ(spread(door.at, 10), (std::map<std::string, int>{{"b", 10}}));
  EXPECT_EQ(targets_of(door).size(), 1u);
}

TEST_F(OwnPlaceTest, AHealthCheckDoesNotAskThereEither) {
  const auto room = edge_.open_door(Transport::tcp, {{edge_.open_room("a")}});
  const model::Target beside = edge_.open_room_at({room.at.ip, Edge::fresh_port()});
  const model::RuleAttributes checked{.health_check = model::HealthCheck{.port = room.at.port}};
  const auto asked = edge_.open_door(Transport::tcp, {}, checked);
  EXPECT_EQ(edge_.change(asked.id, {{beside}}).error().code, Code::invalid);

  const auto later = edge_.open_door(Transport::tcp, {{beside}});
  const auto changed = edge_.set_attributes(later.id, checked);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, Code::invalid);
  EXPECT_TRUE(ask_over_tcp(later.at, "ahoy", kTimeoutMs)) << "it goes on as it was";
}

}  // namespace
}  // namespace berth::edge
