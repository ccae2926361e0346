#include "controllers/portpool/sweep.h"

#include <gtest/gtest.h>

#include "controllers/portpool/test_support.h"

namespace berth::controllers::portpool {
namespace {

// Whose an old claim of port 30000 is, by what the API server and the cache say of Pods.
class ClaimWithoutPod : public ::testing::Test {
 protected:
  static std::string told(std::int64_t port) {
    return api::encode_pool_bindings({testing::entry(port)});
  }
  static ledger::Claim claim_of(std::string pod_name) {
    return {.state = ledger::SlotState::claimed,
            .token = "its",
            .ns = "games",
            .pod_name = std::move(pod_name)};
  }
  // The uid of the Pod.
  std::string whose(const ledger::Claim& claim, const std::vector<PodRef>& pods) const {
    const PodRef* const pod = pod_answered_with(claim, lock_, pods);
    return pod ? pod->uid : "nobody's";
  }

  const api::Listener lock_ = claims::testing::lock_at({});
};

TEST_F(ClaimWithoutPod, IsOfThePodWithItsToken) {
  const std::vector<PodRef> pods{{"other", "room-0", "a", told(30001)},
                                 {"its", "room-1", "b", told(30000)}};
  EXPECT_EQ(whose(claim_of("room-1"), pods), "b");
  EXPECT_EQ(whose(claim_of(""), pods), "b");
  EXPECT_EQ(whose(claim_of("room-2"), {}), "nobody's");
}

// The server refused the creation that came with this token.
TEST_F(ClaimWithoutPod, IsOfThePodOfItsNameThatWasToldOfThePort) {
  EXPECT_EQ(whose(claim_of("room-1"), {{"older", "room-1", "a", told(30000)}}), "a");
  EXPECT_EQ(whose(claim_of("room-1"), {{"older", "room-1", "a", told(30001)}}), "nobody's");
}

TEST_F(ClaimWithoutPod, IsOfThePodWhoseLabelSomebodyTookOff) {
  EXPECT_EQ(whose(claim_of(""), {{"", "crowd-x", "a", told(30000)}}), "a");
  EXPECT_EQ(whose(claim_of(""), {{"", "crowd-x", "a", told(30001)}}), "nobody's");
}

// Its Pod never came, or somebody else's would lose his port.
TEST_F(ClaimWithoutPod, IsNotOfAnotherOnWhichSomebodyWroteItsToken) {
  const PodRef copy{"its", "hall-4", "copy", told(30001)};
  EXPECT_EQ(whose(claim_of("room-2"), {copy}), "nobody's");
  EXPECT_EQ(whose(claim_of("room-2"), {copy, {"its", "room-2", "b", told(30000)}}), "b");
  EXPECT_EQ(whose(claim_of(""), {copy, {"its", "crowd-x", "b", told(30000)}}), "b");
  EXPECT_EQ(whose(claim_of(""), {copy, {"", "crowd-x", "b", told(30000)}}), "b");
}

// It is bound before it is told again what it was told.
TEST_F(ClaimWithoutPod, IsOfThePodWithItsTokenWhateverSomebodyWroteOfItsPorts) {
  EXPECT_EQ(whose(claim_of("room-1"), {{"its", "room-1", "a", "no JSON"}}), "a");
  EXPECT_EQ(whose(claim_of(""), {{"its", "crowd-x", "a", told(30001)}}), "a");
}

}  // namespace
}  // namespace berth::controllers::portpool
