// Listeners that people put back or break, while something else that they depend on is lost.
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

}  // namespace
}  // namespace berth::scenario
