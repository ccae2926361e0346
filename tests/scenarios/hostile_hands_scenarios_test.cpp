// Single deeds of people, each with the rights that he has: what is promised to Pods holds all the
// same. Random lives (hands_test.cpp) found most of them.
#include "hands_fixture.h"

namespace berth::scenario {
namespace {

// Rights are what the server says, not what a move is meant to be.
TEST_F(HandsTest, TenantsWriteNothingOutsideOfTheirNamespaces) {
  Hand mallory = tenant();
  for (const std::string& path :
       {path_in(kGames, "portpools", "rooms"), path_in(kCalm, "pods", "calm-0"),
        path_in(kLobby, "pods", "any") + "/status",
        std::string("/apis/berth.dev/v1/loadbalancers/edge.demo"),
        std::string("/api/v1/namespaces/lobby")}) {
    const auto written = mallory.ask("PATCH", path, Object{{"metadata", Object{}}});
    ASSERT_FALSE(written) << path;
    EXPECT_EQ(written.error().code, Code::forbidden) << path << written.error().to_string();
  }
}

TEST_F(HandsTest, ATokenThatSomebodyWroteIsNoKeyToAFreePort) {
  Hand mallory = tenant();
  ASSERT_TRUE(
      mallory.ask("POST", path_in(kAlley, "pods"),
                  pod(kAlley, "guest", {{ledger::kTokenLabel, token()}},
                      {{api::kPoolBindingsAnnotation, told_of("rooms", kGames, "item1", 30000)}})));
  run_for(minutes{2});
  EXPECT_EQ(claim_on(kGames, "demo-tcp-30000"), "");
  EXPECT_FALSE(is_ready(kAlley, "guest"));
  expect_order();
}

// The same in a namespace whose Pods we are asked about: this one does not ask.
TEST_F(HandsTest, APodThatDoesNotAskGetsNoPortByWhatItSays) {
  Hand mallory = tenant();
  ASSERT_TRUE(
      mallory.ask("POST", path_in(kLobby, "pods"),
                  pod(kLobby, "guest", {{ledger::kTokenLabel, token()}},
                      {{api::kPoolBindingsAnnotation, told_of("own", kLobby, "one", 31000)}})));
  run_for(minutes{2});
  EXPECT_EQ(claim_on(kLobby, "demo-tcp-31000"), "");
  expect_order();
}

// A PortBinding that names the Pod's uid is ours only if we made it.
TEST_F(HandsTest, APortBindingThatSomebodyWroteIsNoProof) {
  Hand mallory = tenant();
  const auto made =
      mallory.ask("POST", path_in(kAlley, "pods"),
                  pod(kAlley, "guest", {},
                      {{api::kPoolBindingsAnnotation, told_of("rooms", kGames, "item1", 30000)}}));
  ASSERT_TRUE(made);
  const Value binding = get(path_in(kCalm, "portbindings", "calm-0"));
  Object copy = fresh_copy(binding, kAlley, "guest");
  copy["metadata"].as_object()["annotations"] =
      Object{{"berth.dev/pod-uid", wire::string_at(*made, "/metadata/uid")}};
  ASSERT_TRUE(mallory.ask("POST", path_in(kAlley, "portbindings"), copy));
  run_for(minutes{2});
  EXPECT_EQ(claim_on(kGames, "demo-tcp-30000"), "");
  expect_order();
}

TEST_F(HandsTest, AListenerOfTheSameNameTakesNothingAwayWithIt) {
  Hand mallory = tenant();
  for (const auto& listener : all(path_in(kCalm, "listeners"))) {
    const Value whole = get(path_in(kCalm, "listeners", name_of(listener)));
    ASSERT_TRUE(mallory.ask("POST", path_in(kLobby, "listeners"),
                            fresh_copy(whole, kLobby, name_of(listener))));
  }
  run_for(seconds{30});
  for (const auto& listener : all(path_in(kCalm, "listeners")))
    (void)mallory.ask("DELETE", path_in(kLobby, "listeners", name_of(listener)));
  run_for(minutes{15});
  expect_order();
}

// Its ports are the tenant's own, so it may be acted on; its name is what the other's has at the
// provider.
TEST_F(HandsTest, AnOwnListenerUnderAnothersNameTakesNothingAway) {
  Hand mallory = tenant();
  const Value own = get(path_in(kLobby, "listeners", "demo-tcp-31000"));
  (void)mallory.patch_meta(path_of(own), {{"finalizers", nullptr}});
  (void)mallory.ask("DELETE", path_of(own));
  for (const char* name : {"demo-tcp-32000", "demo-tcp-32001"}) {
    Object copy = fresh_copy(own, kLobby, name);
    copy.erase("status");
    ASSERT_TRUE(mallory.ask("POST", path_in(kLobby, "listeners"), copy));
    run_for(seconds{30});
    (void)mallory.ask("DELETE", path_in(kLobby, "listeners", name));
    run_for(seconds{30});
  }
  run_for(minutes{15});
  expect_order();
}

// The id is in the status, which has no rights of its own.
TEST_F(HandsTest, AnIdThatSomebodyWroteTakesNothingAway) {
  Hand mallory = tenant();
  std::vector<std::string> ids;
  for (const auto& listener : all(path_in(kCalm, "listeners"))) {
    if (name_of(listener).starts_with("demo"))
      ids.emplace_back(wire::string_at(listener, "/status/listenerID"));
  }
  ASSERT_EQ(ids.size(), 2u);
  for (const std::size_t i : {0u, 1u}) {
    const std::string path = path_in(kLobby, "listeners", fmt::format("demo-tcp-3100{}", i));
    ASSERT_TRUE(mallory.ask("PATCH", path, Object{{"status", Object{{"listenerID", ids[i]}}}}));
    run_for(seconds{5});
    (void)mallory.ask("DELETE", path);
  }
  run_for(minutes{15});
  expect_order();
}

TEST_F(HandsTest, AListenerThatIsMovedOntoAnothersPortStaysAway) {
  Hand mallory = tenant();
  const Value calm = get(path_in(kCalm, "listeners", "demo-tcp-32000"));
  for (const char* name : {"demo-tcp-31000", "demo-tcp-31001"}) {
    ASSERT_TRUE(mallory.ask(
        "PATCH", path_in(kLobby, "listeners", name),
        Object{{"spec", Object{{"port", 32000}}},
               {"status", Object{{"listenerID", wire::string_at(calm, "/status/listenerID")}}}}));
  }
  run_for(minutes{15});
  expect_order();
}

// Deleting it is how people put right what they broke.
TEST_F(HandsTest, AListenerThatWasSentElsewhereCanBeDeleted) {
  Hand mallory = tenant();
  const std::string path = path_in(kLobby, "listeners", "demo-tcp-31000");
  ASSERT_TRUE(
      mallory.ask("PATCH", path, Object{{"spec", Object{{"loadbalancerID", "edge:west"}}}}));
  run_for(minutes{1});
  (void)mallory.ask("DELETE", path);
  run_for(minutes{3});
  EXPECT_EQ(wire::string_at(get(path), "/metadata/deletionTimestamp"), "")
      << wire::to_json(get(path));
  expect_order();
}

TEST_F(HandsTest, AListenerWithoutItsClaimThatWasSentElsewhereCanBeDeleted) {
  Hand mallory = tenant();
  const std::string path = path_in(kLobby, "listeners", "demo-tcp-31000");
  ASSERT_TRUE(
      mallory.ask("PATCH", path, Object{{"spec", Object{{"loadbalancerID", "edge:west"}}}}));
  ASSERT_TRUE(
      mallory.patch_meta(path, {{"annotations", Object{{ledger::kClaimAnnotation, nullptr}}}}));
  run_for(minutes{1});
  (void)mallory.ask("DELETE", path);
  run_for(minutes{3});
  EXPECT_EQ(wire::string_at(get(path), "/metadata/deletionTimestamp"), "")
      << wire::to_json(get(path));
  expect_order();
}

// Its own targets are no better: a Listener leads to the Pod that has its port, or nowhere.
TEST_F(HandsTest, TargetsThatSomebodyWroteAreNotServed) {
  Hand mallory = tenant();
  const Object backend{{"IP", "127.0.0.1"}, {"port", 8080}, {"weight", 10}};
  ASSERT_TRUE(
      mallory.ask("PATCH", path_in(kLobby, "listeners", "demo-tcp-31000"),
                  Object{{"spec", Object{{"targetGroup", Object{{"backends", Array{backend}}}}}}}));
  run_for(seconds{60});
  const auto found = world().provider().find({.id = "demo"}, model::Transport::tcp, 31000);
  EXPECT_TRUE(!found || model::targets_of(found->spec).empty());
  expect_order();
}

TEST_F(HandsTest, ReviewsThatNobodySentHoldNoPortForLong) {
  for (int i = 0; i < 4; ++i) {
    const std::string name = fmt::format("ghost-{}", i);
    post_review("nowhere", name, asking("nowhere", name, "own/one.lobby TCP 8000", "87600h"));
  }
  post_review("a/b", "ghost", asking("a/b", "ghost", "own/pair.lobby TCP_UDP 8000", "87600h"));
  run_for(minutes{4});
  expect_order();
}

// A quota, or a name that is taken: the creation ends after our answer.
TEST_F(HandsTest, ARefusedPodKeepsNothing) {
  house_.house().quota().refuses = 1;
  Hand mallory = tenant();
  for (int i = 0; i < 4; ++i)
    EXPECT_FALSE(mallory.ask("POST", path_in(kLobby, "pods"),
                             asking(kLobby, fmt::format("never-{}", i), "own/one TCP 8000", "1h")));
  house_.house().quota().refuses = 0;
  run_for(minutes{4});
  expect_order();
}

TEST_F(HandsTest, WhatAPodSaysOfItselfGivesItNothing) {
  Hand mallory = tenant();
  ASSERT_TRUE(
      mallory.ask("POST", path_in(kLobby, "pods"), asking(kLobby, "guest", "own/one TCP 8000")));
  run_for(seconds{30});
  ASSERT_TRUE(is_ready(kLobby, "guest"));
  const std::string path = path_in(kLobby, "pods", "guest");
  ASSERT_TRUE(mallory.patch_meta(
      path, {{"annotations",
              Object{{api::kPoolBindingsAnnotation, told_of("quiet", kCalm, "one", 32000)}}}}));
  run_for(minutes{3});
  // It is told its own port again, or is no longer called Ready.
  const Room room = RoomBook::read(get(path));
  EXPECT_TRUE(!room.ready || (room.bindings.size() == 1 && room.bindings[0].start_port == 31000))
      << wire::to_json(get(path));
  expect_order();
}

TEST_F(HandsTest, WhatAPodWasToldIsToldAgain) {
  Hand mallory = tenant();
  ASSERT_TRUE(
      mallory.ask("POST", path_in(kLobby, "pods"), asking(kLobby, "guest", "own/one TCP 8000")));
  run_for(seconds{30});
  const std::string path = path_in(kLobby, "pods", "guest");
  ASSERT_TRUE(
      mallory.patch_meta(path, {{"annotations", Object{{api::kPoolBindingsAnnotation, nullptr}}}}));
  run_for(minutes{3});
  const Room room = RoomBook::read(get(path));
  EXPECT_TRUE(room.ready && room.bindings.size() == 1) << wire::to_json(get(path));
  expect_order();
}

// Before its ports are bound nothing but its claims says what it was told.
TEST_F(HandsTest, WhatAPodWasToldIsToldAgainBeforeItIsBound) {
  Hand mallory = tenant();
  ASSERT_TRUE(
      mallory.ask("POST", path_in(kLobby, "pods"), asking(kLobby, "guest", "own/one TCP 8000")));
  const std::string path = path_in(kLobby, "pods", "guest");
  std::string edit(wire::string_at(
      get(path), fmt::format("/metadata/annotations/{}", api::kPoolBindingsAnnotation)));
  const std::string told = edit;
  ASSERT_NE(edit.find("8000"), std::string::npos);
  edit.replace(edit.find("8000"), 4, "22");
  ASSERT_TRUE(
      mallory.patch_meta(path, {{"annotations", Object{{api::kPoolBindingsAnnotation, edit}}}}));
  run_for(minutes{3});
  const Room room = RoomBook::read(get(path));
  EXPECT_TRUE(room.ready) << wire::to_json(get(path));
  EXPECT_EQ(wire::string_at(get(path),
                            fmt::format("/metadata/annotations/{}", api::kPoolBindingsAnnotation)),
            told);
  expect_order();
}

TEST_F(HandsTest, APodThatAsksNoMoreGivesItsPortBack) {
  Hand mallory = tenant();
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(mallory.ask("POST", path_in(kLobby, "pods"),
                            asking(kLobby, fmt::format("guest-{}", i), "own/one TCP 8000")));
  run_for(seconds{30});
  ASSERT_TRUE(mallory.patch_meta(path_in(kLobby, "pods", "guest-0"),
                                 {{"annotations", Object{{api::kPortPoolsAnnotation, nullptr}}}}));
  run_for(minutes{3});
  EXPECT_TRUE(
      mallory.ask("POST", path_in(kLobby, "pods"), asking(kLobby, "another", "own/one TCP 8000")));
  run_for(seconds{30});
  EXPECT_TRUE(is_ready(kLobby, "another"));
  expect_order();
}

// What cannot be read is held, not free.
TEST_F(HandsTest, AClaimOfAnotherVersionIsHeld) {
  Hand mallory = tenant();
  const std::string listener = path_in(kLobby, "listeners", "demo-tcp-31000");
  const std::string claim = R"({"v":99,"state":"Bound"})";
  ASSERT_TRUE(
      mallory.patch_meta(listener, {{"annotations", Object{{ledger::kClaimAnnotation, claim}}}}));
  run_for(minutes{2});
  EXPECT_EQ(claim_on(kLobby, "demo-tcp-31000"), claim);
  EXPECT_FALSE(mallory.ask("DELETE", path_in(kLobby, "portpools", "own")));
  expect_order();
}

// Without a seal, as the version before us made them, while our keys are young.
TEST_F(HandsTest, AnUnsealedListenerOnAPortOfItsOwnPoolIsNotActedOn) {
  Hand mallory = tenant();
  Object copy = fresh_copy(get(path_in(kLobby, "listeners", "east-tcp-43000")), kLobby, "another");
  copy["metadata"].as_object().erase("annotations");
  copy["metadata"].as_object().erase("labels");
  ASSERT_TRUE(mallory.ask("POST", path_in(kLobby, "listeners"), copy));
  run_for(seconds{5});
  ASSERT_TRUE(mallory.ask("POST", path_in(kLobby, "pods"),
                          asking(kLobby, "guest", "own/pair TCP_UDP 8000")));
  run_for(minutes{2});
  EXPECT_TRUE(is_ready(kLobby, "guest"));
  const auto found = world().provider().find({.id = "east"}, model::Transport::tcp, 43000);
  EXPECT_TRUE(found && model::targets_of(found->spec).size() == 1);
  expect_order();
}

// With all that was written on it, as if the load balancer still led to the Pod.
TEST_F(HandsTest, AListenerThatIsMadeAgainIsNotBelieved) {
  Hand mallory = tenant();
  ASSERT_TRUE(mallory.ask("POST", path_in(kLobby, "pods"),
                          asking(kLobby, "guest", "own/pair TCP_UDP 8000")));
  run_for(minutes{15});  // nothing is looked at by itself any more, but for audits
  ASSERT_TRUE(is_ready(kLobby, "guest"));
  const std::string path = path_in(kLobby, "listeners", "east-tcp-43000");
  const Value listener = get(path);
  ASSERT_TRUE(mallory.ask("DELETE", path));
  ASSERT_TRUE(house_.house().run_until([&] { return get(path).is_null(); }));
  ASSERT_TRUE(mallory.ask("POST", path_in(kLobby, "listeners"),
                          fresh_copy(listener, kLobby, "east-tcp-43000")));
  run_for(minutes{1});
  const auto found = world().provider().find({.id = "east"}, model::Transport::tcp, 43000);
  EXPECT_TRUE(found && model::targets_of(found->spec).size() == 1);
  EXPECT_TRUE(is_ready(kLobby, "guest"));
  expect_order();
}

// Without its token it cannot prove that the port was its own, when the claim is lost with the
// Listener. The one on the other load balancer leads to it until it goes, and no longer.
TEST_F(HandsTest, APortThatNobodyHasLeadsNowhereWhenThePodHasGone) {
  Hand mallory = tenant();
  ASSERT_TRUE(mallory.ask("POST", path_in(kLobby, "pods"),
                          asking(kLobby, "guest", "own/pair TCP_UDP 8000")));
  run_for(seconds{30});
  ASSERT_TRUE(is_ready(kLobby, "guest"));
  ASSERT_TRUE(mallory.patch_meta(path_in(kLobby, "pods", "guest"),
                                 {{"labels", Object{{ledger::kTokenLabel, nullptr}}}}));
  ASSERT_TRUE(mallory.ask("DELETE", path_in(kLobby, "listeners", "east-tcp-43000")));
  run_for(minutes{2});
  EXPECT_EQ(claim_on(kLobby, "east-tcp-43000"), "");
  EXPECT_FALSE(is_ready(kLobby, "guest"));
  ASSERT_TRUE(mallory.ask("DELETE", path_in(kLobby, "pods", "guest")));
  run_for(minutes{2});
  const auto found = world().provider().find({.id = "west"}, model::Transport::tcp, 43000);
  EXPECT_TRUE(found && model::targets_of(found->spec).empty());
  expect_order();
}

// Of a slot on two load balancers, one Listener has the claim. What somebody writes on the other is
// none, and moves nobody.
TEST_F(HandsTest, AClaimOnAPeerIsNone) {
  Hand mallory = tenant();
  ASSERT_TRUE(mallory.ask("POST", path_in(kLobby, "pods"),
                          asking(kLobby, "guest", "own/pair TCP_UDP 8000")));
  const auto another =
      mallory.ask("POST", path_in(kLobby, "pods"), asking(kLobby, "another", "own/one TCP 8000"));
  ASSERT_TRUE(another);
  run_for(seconds{30});
  ASSERT_TRUE(is_ready(kLobby, "guest"));
  using ledger::SlotState;
  for (const SlotState state : {SlotState::draining, SlotState::bound, SlotState::kept}) {
    ledger::Claim claim{.state = state,
                        .token = token(),
                        .ns = kLobby,
                        .pod_name = "another",
                        .pod_uid = std::string(wire::string_at(*another, "/metadata/uid"))};
    if (state == SlotState::kept) claim.until = world().kernel().wall_time() + minutes{60};
    ASSERT_TRUE(mallory.patch_meta(
        path_in(kLobby, "listeners", "west-tcp-43000"),
        {{"annotations", Object{{ledger::kClaimAnnotation, ledger::encode(claim)}}}}));
    // Not for a moment does it lead elsewhere.
    for (int i = 0; i < 100; ++i) {
      run_for(seconds{1});
      const auto found = world().provider().find({.id = "west"}, model::Transport::tcp, 43000);
      ASSERT_TRUE(found && model::targets_of(found->spec).size() == 1) << ledger::to_string(state);
    }
    EXPECT_TRUE(is_ready(kLobby, "guest"));
    const Value peer = get(path_in(kLobby, "listeners", "west-tcp-43000"));
    EXPECT_FALSE(wire::find(
        peer, "/metadata/annotations/" + wire::escape_pointer_step(ledger::kClaimAnnotation)))
        << wire::to_json(peer);
  }
  expect_order();
}

class ItemThatGoesTest : public OperatorTest {
 protected:
  // Eight rooms ask for item b of a pool at the moment in which its owner takes it out.
  void rooms_come_while_it_goes() {
    ASSERT_TRUE(
        tenant().ask("POST", path_in(kLobby, "portpools"),
                     pool(kLobby, "more", {item("a", 33000, 33002), item("b", 33010, 33018)})));
    run_for(seconds{20});
    std::vector<std::shared_ptr<const bool>> tasks;
    for (int i = 0; i < 8; ++i) {
      tasks.push_back(house_.house().cluster().play("guest", [this, i](std::stop_token) {
        (void)tenant().ask("POST", path_in(kLobby, "pods"),
                           asking(kLobby, guest(i), "more/b TCP 8000"));
      }));
    }
    tasks.push_back(house_.house().cluster().play("owner", [this](std::stop_token) {
      (void)tenant().ask("PATCH", path_in(kLobby, "portpools", "more"),
                         Object{{"spec", Object{{"poolItems", Array{item("a", 33000, 33002)}}}}});
    }));
    ASSERT_TRUE(house_.house().run_until([&] { return all_through(tasks); }));
  }
  static std::string guest(int i) { return fmt::format("guest-{}", i); }
};

// It comes back with other ports, and another pool takes the old.
TEST_F(ItemThatGoesTest, LeavesNoPortBehindWhenItComesBackElsewhere) {
  Hand mallory = tenant();
  rooms_come_while_it_goes();
  run_for(seconds{5});
  (void)mallory.ask(
      "PATCH", path_in(kLobby, "portpools", "more"),
      Object{{"spec",
              Object{{"poolItems", Array{item("a", 33000, 33002), item("b", 33030, 33038)}}}}});
  run_for(seconds{20});
  ASSERT_TRUE(mallory.ask("POST", path_in(kAlley, "portpools"),
                          pool(kAlley, "thief", {item("one", 33010, 33018)})));
  run_for(seconds{20});
  for (int i = 0; i < 8; ++i)
    (void)mallory.ask("POST", path_in(kLobby, "pods"),
                      asking(kLobby, fmt::format("late-{}", i), "thief.alley TCP 8000"));
  run_for(minutes{3});
  expect_order();
}

// Nobody asks for its ports any more, but rooms stand on them.
TEST_F(ItemThatGoesTest, GetsAGrantBackThatIsEditedAwayUnderARoom) {
  rooms_come_while_it_goes();
  run_for(minutes{3});
  std::vector<std::string> rooms;
  for (int i = 0; i < 8; ++i)
    if (is_ready(kLobby, guest(i))) rooms.push_back(guest(i));
  ASSERT_FALSE(rooms.empty());
  for (const Value& balancer : all("/apis/berth.dev/v1/loadbalancers")) {
    ASSERT_TRUE(other().ask("PATCH", "/apis/berth.dev/v1/loadbalancers/" + name_of(balancer),
                            Object{{"spec", Object{{"grants", Array{}}}}}));
  }
  run_for(minutes{3});
  for (const std::string& room : rooms) EXPECT_TRUE(is_ready(kLobby, room)) << room;
  expect_order();
}

// Without its finalizer nothing holds it.
TEST_F(HandsTest, APoolThatIsTornOutLeavesItsPortsToNobodyWhileTheyLeadSomewhere) {
  Hand mallory = tenant();
  ASSERT_TRUE(
      mallory.ask("POST", path_in(kLobby, "pods"), asking(kLobby, "guest", "own/one TCP 8000")));
  run_for(seconds{30});
  const std::string own = path_in(kLobby, "portpools", "own");
  ASSERT_TRUE(mallory.patch_meta(own, {{"finalizers", nullptr}}));
  (void)mallory.ask("DELETE", own);
  ASSERT_TRUE(mallory.ask("POST", path_in(kAlley, "portpools"),
                          pool(kAlley, "thief", {item("one", 31000, 31004)})));
  run_for(seconds{20});
  for (int i = 0; i < 4; ++i)
    (void)mallory.ask("POST", path_in(kLobby, "pods"),
                      asking(kLobby, fmt::format("late-{}", i), "thief.alley TCP 8000"));
  run_for(minutes{3});
  expect_order();
}

class LostBalancersTest : public OperatorTest {
 protected:
  // `first` is older and would like to have what `second` was granted.
  void SetUp() override {
    OperatorTest::SetUp();
    Hand mallory = tenant();
    ASSERT_TRUE(mallory.ask("POST", path_in(kAlley, "portpools"),
                            pool(kAlley, "first", {item("one", 33000, 33002)})));
    run_for(seconds{10});
    ASSERT_TRUE(mallory.ask("POST", path_in(kLobby, "portpools"),
                            pool(kLobby, "second", {item("one", 33010, 33012)})));
    run_for(seconds{10});
    ASSERT_TRUE(mallory.ask(
        "PATCH", path_in(kAlley, "portpools", "first"),
        Object{{"spec", Object{{"poolItems",
                                Array{item("one", 33000, 33002), item("two", 33010, 33012)}}}}}));
    for (const char* name : {"guest-0", "guest-1"})
      ASSERT_TRUE(
          mallory.ask("POST", path_in(kLobby, "pods"), asking(kLobby, name, "second TCP 8000")));
    run_for(minutes{3});
    ASSERT_TRUE(is_ready(kLobby, "guest-0") && is_ready(kLobby, "guest-1"));
  }
  // Whoever is older asks for what it would have got.
  void expect_nothing_given() {
    Hand mallory = tenant();
    run_for(seconds{30});
    for (const char* name : {"thief-0", "thief-1"})
      (void)mallory.ask("POST", path_in(kLobby, "pods"),
                        asking(kLobby, name, "first/two.alley TCP 8000"));
    run_for(minutes{3});
    EXPECT_TRUE(is_ready(kLobby, "guest-0") && is_ready(kLobby, "guest-1"));
    EXPECT_FALSE(is_ready(kLobby, "thief-0"));
    EXPECT_FALSE(is_ready(kLobby, "thief-1"));
  }
};

TEST_F(LostBalancersTest, AreRebuiltFromListeners) {
  ASSERT_TRUE(other().ask("DELETE", "/apis/berth.dev/v1/loadbalancers"));
  expect_nothing_given();
  expect_order();
}

TEST_F(LostBalancersTest, GrantsThatAreEmptiedAreRebuilt) {
  for (const Value& balancer : all("/apis/berth.dev/v1/loadbalancers")) {
    ASSERT_TRUE(other().ask("PATCH", "/apis/berth.dev/v1/loadbalancers/" + name_of(balancer),
                            Object{{"spec", Object{{"grants", Array{}}}}}));
  }
  expect_nothing_given();
  expect_order();
}

// What Pods read of themselves: players are sent there.
TEST_F(OperatorTest, LostBalancersTakeNoAddressFromPods) {
  const auto told = [this] {
    return RoomBook::read(get(path_in(kCalm, "pods", "calm-0"))).bindings;
  };
  const auto before = told();
  ASSERT_TRUE(other().ask("DELETE", "/apis/berth.dev/v1/loadbalancers"));
  for (int i = 0; i < 100; ++i) {
    run_for(std::chrono::milliseconds{100});
    ASSERT_EQ(api::encode_pool_bindings(told()), api::encode_pool_bindings(before));
  }
  expect_order();
}

// An older state, from before the younger pool had anything.
TEST_F(OperatorTest, BalancersAsTheyWereGiveNothingToTwo) {
  Hand mallory = tenant();
  ASSERT_TRUE(mallory.ask("POST", path_in(kAlley, "portpools"),
                          pool(kAlley, "first", {item("one", 33010, 33012)})));
  run_for(seconds{20});
  const auto backup = world().cluster().server().backup();
  ASSERT_TRUE(mallory.ask("DELETE", path_in(kAlley, "portpools", "first")));
  run_for(seconds{20});
  ASSERT_TRUE(mallory.ask("POST", path_in(kLobby, "portpools"),
                          pool(kLobby, "second", {item("one", 33010, 33012)})));
  for (const char* name : {"guest-0", "guest-1"})
    ASSERT_TRUE(
        mallory.ask("POST", path_in(kLobby, "pods"), asking(kLobby, name, "second TCP 8000")));
  run_for(minutes{3});
  ASSERT_TRUE(is_ready(kLobby, "guest-0") && is_ready(kLobby, "guest-1"));
  world().restore(*backup, "loadbalancers");
  run_for(minutes{3});
  EXPECT_TRUE(is_ready(kLobby, "guest-0") && is_ready(kLobby, "guest-1"));
  expect_order();
}

// Listeners as they were: one whose Pod has gone since, one that has another Pod now.
TEST_F(OperatorTest, ListenersAsTheyWereAreBroughtUpToDate) {
  Hand mallory = tenant();
  for (const char* name : {"guest-0", "guest-1"})
    ASSERT_TRUE(
        mallory.ask("POST", path_in(kLobby, "pods"), asking(kLobby, name, "own/one TCP 8000")));
  run_for(seconds{30});
  const auto backup = world().cluster().server().backup();
  for (const char* name : {"guest-0", "guest-1"})
    ASSERT_TRUE(mallory.ask("DELETE", path_in(kLobby, "pods", name)));
  run_for(minutes{2});
  for (const char* name : {"later-0", "later-1"})
    ASSERT_TRUE(
        mallory.ask("POST", path_in(kLobby, "pods"), asking(kLobby, name, "own/one TCP 8000")));
  run_for(minutes{3});
  house_.trust().note_upheaval(minutes{13});
  world().restore(*backup, "listeners");
  run_for(minutes{20});
  expect_order();
}

// A room of its own, one elsewhere that uses its pool, and a name whose port is kept: nothing of it
// is in the way of the namespace that comes after it.
TEST_F(AdministratorTest, ANamespaceGoesWithItsRoomsAndComesAgain) {
  Hand mallory = tenant();
  ASSERT_TRUE(mallory.ask("POST", path_in(kLobby, "pods"),
                          asking(kLobby, "guest", "own/pair TCP_UDP 8000", "1h")));
  ASSERT_TRUE(mallory.ask("POST", path_in(kLobby, "pods"),
                          asking(kLobby, "former", "own/one TCP 8000", "1h")));
  ASSERT_TRUE(other().ask("POST", path_in(kGames, "pods"),
                          asking(kGames, "visitor", "own/one.lobby TCP 8000")));
  run_for(seconds{30});
  ASSERT_TRUE(is_ready(kLobby, "guest") && is_ready(kGames, "visitor"));
  ASSERT_TRUE(mallory.ask("DELETE", path_in(kLobby, "pods", "former")));
  run_for(seconds{30});
  const Value before = get("/api/v1/namespaces/lobby");
  house_.trust().note_namespace(kLobby);
  ASSERT_TRUE(other().ask("DELETE", "/api/v1/namespaces/lobby"));
  run_for(minutes{2});
  ASSERT_TRUE(get("/api/v1/namespaces/lobby").is_null());
  EXPECT_FALSE(is_ready(kGames, "visitor")) << "its pool is gone";
  for (const model::Transport protocol : {model::Transport::tcp, model::Transport::udp})
    EXPECT_FALSE(world().provider().find({.id = "west"}, protocol, 43000));
  expect_order();
  const Value after = get("/api/v1/namespaces/lobby");
  EXPECT_NE(wire::string_at(after, "/metadata/uid"), wire::string_at(before, "/metadata/uid"));
}

// It was told of the port by whoever copied it, and is Ready by hand.
TEST_F(AdministratorTest, ACopyThatIsCalledReadyTakesNothingFromThePodThatWasCopied) {
  const Value calm = get(path_in(kCalm, "pods", "calm-0"));
  Object copy = fresh_copy(calm, kGames, "calm-0");
  copy["metadata"].as_object()["annotations"].as_object().erase(api::kPortPoolsAnnotation);
  copy.erase("status");
  copy["spec"].as_object().erase("nodeName");
  Hand alice = other();
  ASSERT_TRUE(alice.ask("POST", path_in(kGames, "pods"), copy));
  run_for(seconds{30});
  const Object condition{{"type", api::kPortsReadyCondition}, {"status", "True"}};
  for (int i = 0; i < 10; ++i) {
    if (i == 5) {
      ASSERT_TRUE(
          alice.patch_meta(path_in(kGames, "pods", "calm-0"),
                           {{"annotations", Object{{claims::kPortsSealAnnotation, nullptr}}}}));
    }
    ASSERT_TRUE(alice.ask("PATCH", path_in(kGames, "pods", "calm-0") + "/status",
                          Object{{"status", Object{{"conditions", Array{condition}}}}}));
    // Whatever makes us look at the other one.
    ASSERT_TRUE(world().cluster().ask(
        "PATCH", path_in(kCalm, "pods", "calm-0"),
        Object{{"metadata", Object{{"labels", Object{{"look", fmt::format("{}", i)}}}}}}));
    run_for(seconds{5});
  }
  EXPECT_TRUE(is_ready(kCalm, "calm-0"));
  expect_order();
}

// Its ports are ours as long as they are kept for the name: so is what speaks of them.
TEST_F(OperatorTest, APortBindingThatLostItsMarkGoesWithItsPorts) {
  Hand mallory = tenant();
  ASSERT_TRUE(mallory.ask("POST", path_in(kLobby, "pods"),
                          asking(kLobby, "guest", "own/one TCP 8000", "60s")));
  run_for(seconds{30});
  ASSERT_TRUE(mallory.ask("DELETE", path_in(kLobby, "pods", "guest")));
  const std::string binding = path_in(kLobby, "portbindings", "guest");
  ASSERT_TRUE(house_.house().run_until(
      [&] { return wire::string_at(get(binding), "/status/status") == "Cleaned"; }));
  ASSERT_TRUE(
      other().patch_meta(binding, {{"annotations", Object{{"berth.dev/pod-uid", nullptr}}}}));
  run_for(minutes{3});
  EXPECT_TRUE(get(binding).is_null()) << wire::to_json(get(binding));
  expect_order();
}

// Two leaders would be two who write.
TEST_F(HandsTest, ALeaseThatIsTakenAwayMakesNoSecondLeader) {
  const std::string lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/berth";
  ASSERT_TRUE(world().cluster().ask("DELETE", lease));
  run_for(minutes{1});
  ASSERT_TRUE(world().cluster().ask("PATCH", lease,
                                    Object{{"spec", Object{{"holderIdentity", "somebody"}}}}));
  run_for(minutes{2});
  expect_order();
}

}  // namespace
}  // namespace berth::scenario
