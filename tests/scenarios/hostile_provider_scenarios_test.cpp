// Load balancers that somebody changes past the API server: what is ours is put right by an audit,
// what is not ours is never touched.
#include "hands_fixture.h"

namespace berth::scenario {
namespace {

class ProviderHandsTest : public OperatorTest {
 protected:
  void SetUp() override {
    OperatorTest::SetUp();
    ASSERT_TRUE(tenant().ask("POST", path_in(kLobby, "pods"),
                             asking(kLobby, "guest", "own/pair TCP_UDP 8000")));
    run_for(minutes{3});
    ASSERT_TRUE(is_ready(kLobby, "guest"));
    const auto found = listener();
    ASSERT_TRUE(found);
    as_it_was_ = *found;
  }

  std::optional<lb::ObservedListener> listener() {
    return world().provider().find(kPlace.lb, kPlace.protocol, kPlace.port);
  }
  // Done by somebody, in this moment.
  void touch() { house_.trust().note_place(kPlace, kAudited); }

  static inline const Place kPlace{{.id = "west"}, model::Transport::tcp, 43000};
  lb::ObservedListener as_it_was_;
};

TEST_F(ProviderHandsTest, TargetsAreAsWishedAfterAnAudit) {
  touch();
  lb::TargetChange change{.rule = {as_it_was_.id, {}}};
  change.add.push_back({.target = {"192.0.2.66", 8000}});
  change.remove.push_back(model::targets_of(as_it_was_.spec).front().target);
  (void)world().provider().change_targets(kPlace.lb, {change}, world().kernel().now());
  ASSERT_NE(listener()->spec, as_it_was_.spec);
  run_for(kAudited + minutes{1});
  EXPECT_EQ(listener()->spec, as_it_was_.spec);
  EXPECT_TRUE(is_ready(kLobby, "guest"));
  expect_order();
}

TEST_F(ProviderHandsTest, AListenerThatWasRemovedIsBackAfterAnAudit) {
  touch();
  world().provider().remove_listener(kPlace.lb, as_it_was_.id);
  run_for(kAudited + minutes{1});
  ASSERT_TRUE(listener());
  EXPECT_EQ(listener()->spec, as_it_was_.spec);
  EXPECT_TRUE(is_ready(kLobby, "guest"));
  expect_order();
}

// The same name under another id: it is taken over.
TEST_F(ProviderHandsTest, AListenerThatWasMadeAgainIsTakenOver) {
  touch();
  world().provider().remove_listener(kPlace.lb, as_it_was_.id);
  model::ListenerSpec again = as_it_was_.spec;
  again.rules.front().targets = {{.target = {"192.0.2.66", 8000}}};
  again.rules.front().attributes.session_seconds = 77;
  (void)world().provider().add_listener(kPlace.lb, again);
  run_for(kAudited + minutes{1});
  ASSERT_TRUE(listener());
  EXPECT_EQ(listener()->spec, as_it_was_.spec);
  expect_order();
}

// Somebody else's listener is on the port: it stays as it is, and the room is not called Ready
// until it has gone.
TEST_F(ProviderHandsTest, AForeignListenerOnOurPortIsNotChanged) {
  touch();
  sim::lb::ModelProvider& provider = world().provider();
  provider.remove_listener(kPlace.lb, as_it_was_.id);
  const model::ListenerSpec theirs =
      model::plain_listener(model::Protocol::tcp, {kPlace.port, kPlace.port}, "theirs",
                            {{.target = {"192.0.2.66", 8000}}});
  const model::ListenerId id = provider.add_listener(kPlace.lb, theirs);
  house_.trust().note_foreign(id, kPlace.lb);
  run_for(kAudited + minutes{1});
  EXPECT_FALSE(is_ready(kLobby, "guest"));
  // Neither when its Pod goes, nor when its pool does.
  ASSERT_TRUE(tenant().ask("DELETE", path_in(kLobby, "pods", "guest")));
  run_for(minutes{3});
  (void)tenant().ask("DELETE", path_in(kLobby, "portpools", "own"));
  run_for(kAudited + minutes{1});
  ASSERT_TRUE(listener());
  EXPECT_EQ(listener()->id, id);
  EXPECT_EQ(listener()->spec, theirs);
  expect_order();
}

TEST_F(ProviderHandsTest, APortIsOursAgainWhenTheForeignListenerHasGone) {
  touch();
  sim::lb::ModelProvider& provider = world().provider();
  provider.remove_listener(kPlace.lb, as_it_was_.id);
  const model::ListenerId id = provider.add_listener(
      kPlace.lb, model::plain_listener(model::Protocol::tcp, {kPlace.port, kPlace.port}, "theirs"));
  run_for(kAudited + minutes{1});
  ASSERT_FALSE(is_ready(kLobby, "guest"));
  provider.remove_listener(kPlace.lb, id);
  run_for(kAudited + minutes{1});
  EXPECT_TRUE(is_ready(kLobby, "guest"));
  EXPECT_EQ(listener()->spec, as_it_was_.spec);
  expect_order();
}

}  // namespace
}  // namespace berth::scenario
