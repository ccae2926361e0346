// Everything that can happen in a small house, in every order: see README.md for what is in it and
// what is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "explorer.h"

namespace berth::house {
namespace {

using ::testing::HasSubstr;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

// About a gigabyte.
constexpr std::size_t kMaxStates = 12'000'000;

Wanted on(std::vector<std::size_t> lbs, model::Port first, model::Port last) {
  return {std::move(lbs),
          {static_cast<model::Port>(first - 1), static_cast<model::Port>(last - 1)}};
}
const Wanted kNothing{};

// Two pools, two load balancers, two replicas, three ports and a hand in one house. With an item
// that moves from one load balancer to the other and back, that is for `make soak`.
Size all_of_it(std::string name, std::vector<std::vector<Wanted>> pools) {
  return {.name = std::move(name),
          .balancers = 2,
          .ports = 3,
          .pods = 0,
          .pools = std::move(pools),
          .hands = 1,
          .late_writes = false};
}
Size all_of_it_moving(std::string name) {
  return all_of_it(std::move(name), {{on({0}, 1, 2), on({1}, 3, 3)}, {on({0}, 2, 2)}});
}

std::vector<Size> sizes() {
  return {
      {.name = "OnePoolTwoPodsAHandLateWrites",
       .pods = 2,
       .pools = {{on({0}, 1, 1), kNothing}},
       .hands = 1},
      {.name = "OnePoolOnePodTwoHandsLateWrites",
       .pods = 1,
       .pools = {{on({0}, 1, 1), kNothing}},
       .hands = 2},
      {.name = "OnePoolTwoPodsThreeHands",
       .pods = 2,
       .pools = {{on({0}, 1, 1), kNothing}},
       .hands = 3,
       .late_writes = false},
      {.name = "LockAndPeerTwoPodsLateWrites",
       .balancers = 2,
       .pods = 2,
       .paired = true,
       .pools = {{on({0, 1}, 1, 1), kNothing}}},
      {.name = "LockAndPeerTwoPodsAHand",
       .balancers = 2,
       .pods = 2,
       .paired = true,
       .pools = {{on({0, 1}, 1, 1), kNothing}},
       .hands = 1,
       .late_writes = false},
      {.name = "TwoPoolsTwoPodsAHand",
       .pods = 2,
       .pools = {{on({0}, 1, 1), kNothing}, {on({0}, 1, 1), kNothing}},
       .hands = 1,
       .late_writes = false},
      {.name = "TwoPoolsLateWrites",
       .pods = 2,
       .pools = {{on({0}, 1, 1), kNothing}, {on({0}, 1, 1), kNothing}}},
      {.name = "TwoPoolsTwoPortsAHand",
       .ports = 2,
       .pods = 0,
       .pools = {{on({0}, 1, 1), on({0}, 2, 2)}, {on({0}, 1, 2), kNothing}},
       .hands = 1,
       .late_writes = false},
      {.name = "ThreePortsWhoseRangeMovesAHand",
       .ports = 3,
       .pods = 1,
       .pools = {{on({0}, 1, 2), on({0}, 2, 3), kNothing}},
       .hands = 1,
       .late_writes = false},
      {.name = "TwoBalancersAnItemThatMovesAHand",
       .balancers = 2,
       .pods = 1,
       .pools = {{on({0}, 1, 1), on({1}, 1, 1), kNothing}},
       .hands = 1,
       .late_writes = false},
      all_of_it("TwoPoolsOnTwoBalancersWithThreePortsAHand",
                {{on({0, 1}, 1, 2)}, {on({0, 1}, 2, 3)}}),
  };
}

// For `make soak`.
std::vector<Size> large_sizes() {
  return {
      all_of_it_moving("TwoPoolsOnTwoBalancersWithThreePortsAnItemThatMovesAHand"),
      {.name = "TwoPoolsTwoPortsThatComeAndGoAHand",
       .ports = 2,
       .pods = 0,
       .pools = {{on({0}, 1, 1), on({0}, 2, 2), kNothing}, {on({0}, 1, 2), kNothing}},
       .hands = 1,
       .late_writes = false},
  };
}

bool wants_large() {
  const char* const text = std::getenv("BERTH_SCENARIO_HOUSES");
  return text && std::string_view(text) == "large";
}

std::vector<Size> wanted_sizes() {
  std::vector<Size> out = sizes();
  if (wants_large())
    for (Size& size : large_sizes()) out.push_back(std::move(size));
  return out;
}

class HouseModel : public TestWithParam<Size> {};

TEST_P(HouseModel, NoOrderOfStepsHurtsAnybodyAndAllOfThemEndWell) {
  House house(GetParam(), Plant::none);
  const Exploration found = explore(house, kMaxStates);
  fmt::print("{}: {}\n", GetParam().name, found.to_string());
  EXPECT_EQ(found.fault, "");
  EXPECT_TRUE(found.complete);
  EXPECT_GT(found.states, 1000u);
}

INSTANTIATE_TEST_SUITE_P(AllStates, HouseModel, ValuesIn(wanted_sizes()),
                         [](const auto& size) { return size.param.name; });

// Proof that the proof works: each of these leaves one precaution out, and must be found.
struct Planted {
  std::string name{};
  Plant plant{};
  Size size{};
  std::string fault{};
};

Size one_pool() { return {.pods = 2, .pools = {{on({0}, 1, 1), kNothing}}}; }
Size two_pools() {
  return {.pods = 2, .pools = {{on({0}, 1, 1), kNothing}, {on({0}, 1, 1), kNothing}}};
}
Size lock_and_peer() {
  return {.balancers = 2, .pods = 2, .paired = true, .pools = {{on({0, 1}, 1, 1), kNothing}}};
}
// An item that goes to another load balancer.
Size moves() {
  return {
      .balancers = 2, .pods = 1, .pools = {{on({0}, 1, 1), on({1}, 1, 1)}}, .late_writes = false};
}
Size exact(Size size) {
  size.late_writes = false;
  return size;
}
Size with_hand(Size size) {
  size.hands = 1;
  return size;
}

std::vector<Planted> planted() {
  return {
      {"AnObjectIsRebuiltFromTheCache", Plant::rebuild_from_cache, with_hand(two_pools()),
       "granted to another pool"},
      {"GrantsAreGivenWithoutALookAtListeners", Plant::grant_without_holdings,
       exact(with_hand(two_pools())), "granted to another pool"},
      {"InTheHouseThatHasAllOfItToo", Plant::grant_without_holdings, all_of_it_moving(""),
       "granted to another pool"},
      {"GrantsAreReleasedWithoutALookAtListeners", Plant::release_without_listeners,
       exact(two_pools()), "its grant has left it"},
      {"ALeaderWorksBeforeItHasListed", Plant::lead_before_list, exact(two_pools()),
       "its grant has left it"},
      {"AListenerIsRemovedThatMayBeTaken", Plant::remove_without_version, exact(one_pool()),
       "two Pods that live were told"},
      {"AClaimIsWrittenOverAnother", Plant::claim_without_test, exact(one_pool()),
       "two Pods that live were told"},
      {"AListenerIsPointedWhoeverHasIt", Plant::point_without_test, one_pool(), "p's a:1 leads to"},
      {"AnOutcomeIsNotedOfAnotherTarget", Plant::confirm_without_test, one_pool(),
       "is Ready, and p's a:1 leads nowhere"},
      {"ASlotIsFreeBeforeTheProviderLetGo", Plant::free_before_confirmed, exact(one_pool()),
       "leads to a Pod that has it no more"},
      {"ASlotIsFreeWhateverItsPeerDoes", Plant::give_away_beside_peers, lock_and_peer(),
       "p's b:1 leads to a Pod that has it no more"},
      {"APodIsReadyBeforeItIsReached", Plant::ready_before_applied, exact(one_pool()),
       "is Ready, and p's a:1 leads nowhere"},
      {"APeerIsRemovedThatIsInUse", Plant::remove_peer_by_uid, lock_and_peer(),
       "is Ready, and p's b:1 leads nowhere"},
      {"APeerIsFreeOnTheWordOfAFormerLeader", Plant::note_peer_late, lock_and_peer(),
       "p's b:1 leads to a Pod that has it no more"},
      {"AnItemThatMovesKeepsItsFormerGrant", Plant::release_by_item, moves(),
       "a grant of p's a:1 is left over"},
      {"ForgedListenersAreActedOn", Plant::act_on_forged, exact(with_hand(two_pools())),
       "which somebody copied, is acted on"},
  };
}

class PlantedHouse : public TestWithParam<Planted> {};

TEST_P(PlantedHouse, IsFoundOut) {
  House house(GetParam().size, GetParam().plant);
  const Exploration found = explore(house, kMaxStates);
  fmt::print("{}: {}\n", GetParam().name, found.to_string());
  EXPECT_THAT(found.fault, HasSubstr(GetParam().fault));
}

INSTANTIATE_TEST_SUITE_P(Plants, PlantedHouse, ValuesIn(planted()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace berth::house
