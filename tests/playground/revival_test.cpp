// A controller that lost its lease, as after a pause of the process, is back by itself.

#include <gmock/gmock.h>

#include "world.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

// Somebody who is gone again in a second.
constexpr std::string_view kTakenAway =
    R"({"spec":{"holderIdentity":"somebody","leaseDurationSeconds":1}})";

using Lease = World;

TEST_F(Lease, RoomsAreAdmittedAgainAfterItWasLost) {
  create(example("rooms.yaml"));
  room_is_ready("play/room-1");
  const std::string ops = play_->ops_url();
  merge(kube::types::kLease, {"default", "berth"}, kTakenAway);
  ASSERT_TRUE(eventually([&] { return play_->controller_restarts() == 1; }));
  EXPECT_TRUE(play_->standing());

  merge(kube::types::kStatefulSet, {"play", "room"}, R"({"spec":{"replicas":3}})");
  room_is_ready("play/room-2");
  EXPECT_EQ(play_->ops_url(), ops) << "the address that was printed is good no more";
  EXPECT_THAT(metrics(), HasSubstr("bkbcs_ingressctrl_controller_info"));
}

}  // namespace
}  // namespace berth
