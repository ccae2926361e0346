// Listeners that people put back or break, while something else that they depend on is lost.
#include "claims/seal.h"
#include "hands_fixture.h"

namespace berth::scenario {
namespace {

constexpr std::string_view kBalancer = "/apis/berth.dev/v1/loadbalancers/edge.east";
// Longer than any watch is late here.
constexpr Duration kLongest = std::chrono::milliseconds{600};
constexpr Duration kStep = std::chrono::milliseconds{50};

// It says that the load balancer leads to its Pod, and whose its port is nobody knows in that
// moment: the object that says so is lost, and rebuilt a moment later.
TEST_F(OperatorTest, AListenerThatIsMadeAgainIsNotBelievedWhenItsGrantIsBack) {
  Hand oscar = other();
  ASSERT_TRUE(tenant().ask("POST", path_in(kLobby, "pods"),
                           asking(kLobby, "guest", "own/pair TCP_UDP 8000")));
  run_for(minutes{15});  // nothing is looked at by itself any more, but for audits
  const std::string path = path_in(kLobby, "listeners", "east-tcp-43000");
  for (Duration wait{}; wait <= kLongest; wait += kStep) {
    ASSERT_TRUE(is_ready(kLobby, "guest"));
    const Value listener = get(path);
    ASSERT_TRUE(oscar.ask("DELETE", path));
    run_for(wait);
    ASSERT_TRUE(oscar.ask("DELETE", std::string(kBalancer)));
    ASSERT_TRUE(house_.house().run_until([&] {
      const Value now = get(path);
      return now.is_null() || wire::string_at(now, "/metadata/deletionTimestamp").empty();
    }));
    (void)oscar.ask("POST", path_in(kLobby, "listeners"),
                    fresh_copy(listener, kLobby, "east-tcp-43000"));
    run_for(minutes{1});
    const auto found = world().provider().find({.id = "east"}, model::Transport::tcp, 43000);
    EXPECT_TRUE(found && model::targets_of(found->spec).size() == 1) << to_seconds(wait);
  }
  expect_order();
}

// Its pool is torn out, and it loses its seal: what it says is not acted on, and it goes. What it
// had at the load balancer nobody wishes any more, which an audit finds.
TEST_F(HandsTest, AListenerThatGoesWithoutItsSealLeavesNothingForLong) {
  Hand mallory = tenant();
  ASSERT_TRUE(mallory.ask("POST", path_in(kAlley, "portpools"),
                          pool(kAlley, "torn", {item("one", 33000, 33002)})));
  run_for(minutes{3});
  const std::string torn = path_in(kAlley, "portpools", "torn");
  ASSERT_TRUE(mallory.patch_meta(torn, {{"finalizers", nullptr}}));
  (void)mallory.ask("DELETE", torn);
  const std::string listener = path_in(kAlley, "listeners", "demo-tcp-33000");
  ASSERT_TRUE(mallory.patch_meta(listener,
                                 {{"annotations", Object{{claims::kSealAnnotation, "garbage"}}}}));
  ASSERT_TRUE(house_.house().run_until([&] { return get(listener).is_null(); }));
  expect_order();
}

// Nobody asked us when it was created: it has no port, whatever somebody writes on it.
TEST_F(AdministratorTest, APodThatMissedOurWebhooksAndIsCalledReadyHasNothing) {
  Hand alice = other();
  ASSERT_TRUE(alice.ask(
      "DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/berth"));
  ASSERT_TRUE(world().cluster().ask("POST", path_in(kGames, "pods"),
                                    asking(kGames, "room-9", "rooms TCP 8000")));
  const std::string room = path_in(kGames, "pods", "room-9");
  ASSERT_TRUE(RoomBook::read(get(room)).bindings.empty());
  ASSERT_TRUE(
      alice.patch_meta(room, {{"annotations", Object{{api::kBindStatusAnnotation, "Ready"}}}}));
  run_for(minutes{3});
  EXPECT_TRUE(RoomBook::read(get(room)).bindings.empty());
  expect_order();
}

}  // namespace
}  // namespace berth::scenario
