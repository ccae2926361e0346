#include "playground/natural_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace berth::playground {
namespace {

TEST(NaturalOrder, CountsAsPeopleDo) {
  const std::vector<std::string> sorted{"",
                                        "play/lobby",
                                        "play/room-0",
                                        "play/room-2",
                                        "play/room-9",
                                        "play/room-10",
                                        "play/room-10-a",
                                        "play/room-11",
                                        "play/room-100",
                                        "playa/room-1"};
  std::vector<std::string> shuffled(sorted.rbegin(), sorted.rend());
  std::ranges::sort(shuffled, NaturalOrder());
  EXPECT_EQ(shuffled, sorted);
}

TEST(NaturalOrder, TellsNamesApartThatCountAlike) {
  EXPECT_TRUE(natural_less("room-01", "room-1"));
  EXPECT_FALSE(natural_less("room-1", "room-01"));
  EXPECT_FALSE(natural_less("room-1", "room-1"));
  EXPECT_TRUE(natural_less("room-99999999999999999998", "room-99999999999999999999"));
}

}  // namespace
}  // namespace berth::playground
