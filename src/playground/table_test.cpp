#include "playground/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::playground {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PodRow room(int number) {
  return {.pod = fmt::format("play/room-{}", number),
          .ready = "1/1",
          .status = "Running",
          .ip = "127.16.0.1",
          .room = "127.64.0.1:31000 TCP,UDP"};
}

Overview crowd(int pods) {
  Overview out;
  for (int i = 0; i < pods; ++i) out.pods.push_back(room(i));
  out.pools.push_back({.pool = "play/p",
                       .status = "Ready",
                       .ports = {{"TCP", 20}, {"UDP", 20}},
                       .used = {{"TCP", 2}, {"UDP", 2}}});
  return out;
}

TEST(Table, HasPodsAndPoolsUnderTheirHeadings) {
  Overview overview = crowd(1);
  overview.pods[0].took = "0.007 s";
  const std::string table = to_table(overview);
  EXPECT_THAT(table, HasSubstr("READY AFTER"));
  EXPECT_THAT(table, HasSubstr("0.007 s"));
  EXPECT_THAT(table, HasSubstr("play/p   Ready    20 x TCP,UDP   2 x TCP,UDP\n"));
}

TEST(Table, PortsAreCountedAsPeopleDo) {
  EXPECT_EQ(to_string(PortCounts{{"TCP", 20}, {"UDP", 20}}), "20 x TCP,UDP");
  EXPECT_EQ(to_string(PortCounts{{"UDP", 50}}), "50 x UDP");
  EXPECT_EQ(to_string(PortCounts{{"TCP", 20}, {"UDP", 10}}), "20 x TCP, 10 x UDP");
  EXPECT_EQ(to_string(PortCounts{{"TCP", 0}, {"UDP", 0}}), "0");
  EXPECT_EQ(to_string(PortCounts{}), "0");
}

TEST(Table, SaysWhatWasRefusedAndThatTheControllerCameBack) {
  Overview overview = crowd(20);
  overview.refused.push_back({.workload = "play/room",
                              .kind = "StatefulSet",
                              .missing = 10,
                              .wanted = 30,
                              .why = "PortPool play/p: no free TCP_UDP port"});
  overview.controller_restarts = 1;
  const std::string table = to_table(overview);
  EXPECT_THAT(table, HasSubstr("10 of 30 Pods of StatefulSet play/room refused: PortPool play/p: "
                               "no free TCP_UDP port\n"));
  EXPECT_THAT(table, HasSubstr("the controller ended and was started again, 1 time\n"));
}

TEST(Table, IsCutToTheTerminalAndSaysHowManyAreLeftOut) {
  const Overview overview = crowd(30);
  for (const std::size_t lines : {10u, 11u, 24u, 33u}) {
    const std::string table = to_table(overview, Space{.lines = lines, .width = 200});
    EXPECT_EQ(lines_of(table, 200), lines) << table;
    EXPECT_THAT(table, HasSubstr(" more Pods\n"));
    EXPECT_THAT(table, HasSubstr("play/p"));
  }
  EXPECT_THAT(to_table(overview, Space{.lines = 10, .width = 200}), HasSubstr("and 25 more Pods"));
  EXPECT_THAT(to_table(overview, Space{.lines = 34, .width = 200}), Not(HasSubstr("more")));
  // Lines that are too long take two.
  EXPECT_LE(lines_of(to_table(overview, Space{.lines = 24, .width = 60}), 60), 24u);
  EXPECT_THAT(to_table(overview, Space{.lines = 1, .width = 80}), HasSubstr("and 27 more Pods"));
}

}  // namespace
}  // namespace berth::playground
