// What a running HAProxy is told, and what it answers.

#include "edge/haproxy/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/haproxy/answers.h"

namespace berth::edge::haproxy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

State house(std::vector<model::WeightedTarget> targets, model::RuleAttributes attributes = {}) {
  return {.sites = {{.name = "s-1",
                     .binds = {{"10.0.0.1", 80}},
                     .routes = {{.name = "b",
                                 .key = {"a.example.com", "/"},
                                 .attributes = std::move(attributes),
                                 .targets = std::move(targets)}}}}};
}

Changes between(const State& before, const State& after) {
  return changes_between(config_of(before, "/f"), config_of(after, "/f"));
}

const model::Target kOne{"10.1.0.1", 9000};
const model::Target kTwo{"10.1.0.2", 9000};

TEST(HaproxyChanges, NothingToSay) {
  EXPECT_TRUE(between(house({{kOne}}), house({{kOne}})).empty());
}

TEST(HaproxyChanges, TargetsAndWeightsNeedNoReload) {
  const Changes more = between(house({{kOne, 10}}), house({{kOne, 20}, {kTwo, 5}}));
  EXPECT_FALSE(more.reload);
  EXPECT_THAT(more.commands, ElementsAre("set server b/t_10.1.0.1_9000 weight 20",
                                         "add server b/t_10.1.0.2_9000 10.1.0.2:9000 weight 5",
                                         "enable server b/t_10.1.0.2_9000"));
  EXPECT_THAT(more.gone, IsEmpty());
  const Changes less = between(house({{kOne, 10}, {kTwo, 0}}), house({{kTwo, 7}}));
  EXPECT_THAT(less.commands, ElementsAre("set server b/t_10.1.0.2_9000 weight 7",
                                         "set server b/t_10.1.0.2_9000 state ready",
                                         "set server b/t_10.1.0.1_9000 state maint"));
  EXPECT_THAT(less.gone, ElementsAre("b/t_10.1.0.1_9000"));
  EXPECT_THAT(between(house({{kOne, 10}}), house({{kOne, 0}})).commands,
              ElementsAre("set server b/t_10.1.0.1_9000 state maint"));
}

TEST(HaproxyChanges, OneThatIsCheckedIsCheckedFromTheStart) {
  const model::RuleAttributes checked{.health_check = model::HealthCheck{}};
  EXPECT_THAT(between(house({}, checked), house({{kOne, 10}}, checked)).commands,
              ElementsAre("add server b/t_10.1.0.1_9000 10.1.0.1:9000 weight 10 check inter 5000 "
                          "rise 3 fall 3",
                          "enable health b/t_10.1.0.1_9000", "enable server b/t_10.1.0.1_9000"));
}

TEST(HaproxyChanges, StructureNeedsAReload) {
  EXPECT_TRUE(between(house({{kOne}}), house({{kOne}}, {.session_seconds = 5})).reload);
  EXPECT_TRUE(between(house({}), house({}, {.to_targets = model::TargetProtocol::https})).reload)
      << "all servers have it";
  State more = house({{kOne}});
  more.sites[0].routes.push_back({.name = "c", .key = {"b.example.com", "/"}});
  EXPECT_TRUE(between(house({{kOne}}), more).reload);
  const Changes less = between(more, {});
  EXPECT_TRUE(less.reload);
  EXPECT_THAT(less.gone, ElementsAre("b/t_10.1.0.1_9000")) << "they went with their rule";
}

TEST(HaproxyChanges, AnswersThatAreNotKnownAreNotFine) {
  EXPECT_TRUE(is_fine("\n\nNew server registered.\n\n"));
  EXPECT_FALSE(is_fine("\nNo such server.\n"));
}

TEST(HaproxyAnswers, ProcessesAfterAFailedReload) {
  constexpr const char* kText =
      "#<PID>          <type>          <reloads>       <uptime>        <version>      \n"
      "100             master          3 [failed: 1]   0d00h00m04s     2.6.12\n"
      "# workers\n"
      "101             worker          1               0d00h00m02s     2.6.12\n"
      "# old workers\n"
      "99              worker          2               0d00h00m02s     2.6.12\n"
      "# programs\n\n";
  const Processes all = parse_processes(kText).value();
  EXPECT_EQ(all.reloads, 3u);
  EXPECT_EQ(all.failed, 1u);
  EXPECT_EQ(all.worker, 101);
  EXPECT_THAT(all.old_workers, ElementsAre(99));
  EXPECT_FALSE(parse_processes("Unknown command."));
}

TEST(HaproxyAnswers, StatsByTheNamesOfTheirColumns) {
  constexpr const char* kText =
      "# pxname,svname,scur,stot,bin,bout,status,check_status,req_tot,conn_tot,\n"
      "s-1,FRONTEND,2,9,10,20,OPEN,,7,5,\n"
      "b,t_1,0,3,1,2,UP,L7OK,,,\n"
      "b,t_2,0,3,1,2,DOWN,* L4CON,,,\n"
      "b,t_3,0,3,1,2,MAINT,L7OK,,,\n"
      "b,t_4,0,3,1,2,UP,INI,,,\n"
      "b,BACKEND,0,3,1,2,UP,,,,\n\n";
  const std::vector<Stat> stats = parse_stats(kText);
  ASSERT_EQ(stats.size(), 5u);
  EXPECT_EQ(stats[0].connections, 5u);
  EXPECT_EQ(stats[0].requests, 7u);
  EXPECT_EQ(stats[0].bytes_out, 20u);
  EXPECT_TRUE(stats[1].judged && stats[1].up);
  EXPECT_TRUE(stats[2].judged && !stats[2].up);
  EXPECT_FALSE(stats[3].judged) << "nobody asks it";
  EXPECT_FALSE(stats[4].judged) << "nobody has asked it yet";
}

TEST(HaproxyAnswers, SessionsToAServer) {
  EXPECT_THAT(parse_sessions("0x55: proto=tcpv4 fe=f be=b srv=t_1 ts=00\n"
                             "0x56: proto=tcpv4 fe=f be=b srv=t_2 ts=00\n"
                             "nonsense be=b srv=t_1\n",
                             {"b/t_1"}),
              ElementsAre("0x55"));
}

}  // namespace
}  // namespace berth::edge::haproxy
