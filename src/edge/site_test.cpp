// Sites of HTTP through a real HAProxy: who gets what, and what a change costs those who are there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>

#include "edge/edge_metrics.h"
#include "edge/test_sites.h"

namespace berth::edge {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace testing;

class SiteTest : public ::testing::Test {
 protected:
  void SetUp() override { BERTH_NEEDS_HAPROXY(); }

  std::string who(const Edge::Door& door, const std::string& host, const std::string& path) {
    const Answer answer = get(door.at, host, path);
    return answer.status == 200 ? answer.first_line() : fmt::to_string(answer.status);
  }
  std::map<std::string, int> spread_of(const Edge::Door& door, int requests) {
    std::map<std::string, int> out;
    for (int i = 0; i < requests; ++i) ++out[who(door, "a.example.com", "/")];
    return out;
  }

  SiteEdge edge_;
};

TEST_F(SiteTest, RequestsGoByDomainAndPathTheNarrowestFirst) {
  const Edge::Door door = edge_.open_site(model::Protocol::http);
  for (const auto& [domain, path] :
       std::vector<std::pair<std::string, std::string>>{{"a.example.com", "/"},
                                                        {"a.example.com", "/lobby"},
                                                        {"a.example.com", "/lobby/east"},
                                                        {"*.example.com", "/"},
                                                        {"www.example.*", "/"},
                                                        {"", "/everybody"}})
    edge_.put(door.id, domain, path, {{edge_.room(domain + path)}}).value();
  EXPECT_EQ(who(door, "a.example.com", "/"), "a.example.com/");
  EXPECT_EQ(who(door, "A.Example.COM:8080", "/x"), "a.example.com/");
  EXPECT_EQ(who(door, "a.example.com", "/lobby?x=1"), "a.example.com/lobby");
  EXPECT_EQ(who(door, "a.example.com", "/lobby/east/1"), "a.example.com/lobby/east");
  EXPECT_EQ(who(door, "b.example.com", "/lobby"), "*.example.com/");
  EXPECT_EQ(who(door, "www.example.org", "/"), "www.example.*/");
  EXPECT_EQ(who(door, "other.net", "/everybody"), "/everybody");
  EXPECT_EQ(who(door, "other.net", "/"), "404");
}

TEST_F(SiteTest, TargetsHearWhoAsksAndNotWhatHeSaysOfHimself) {
  const Edge::Door door = edge_.open_site(model::Protocol::http);
  edge_.put(door.id, "a.example.com", "/", {{edge_.room("one")}}).value();
  const Answer answer = get(door.at, "a.example.com", "/", "X-Forwarded-For: 8.8.8.8\r\n");
  std::string head = answer.body;
  std::ranges::transform(head, head.begin(), [](unsigned char c) { return std::tolower(c); });
  EXPECT_THAT(head, HasSubstr("x-forwarded-for: 127."));
  EXPECT_THAT(head, Not(HasSubstr("8.8.8.8")));
  EXPECT_THAT(head, HasSubstr("x-forwarded-proto: http\r\n"));
}

TEST_F(SiteTest, WeightsTargetsAndDrainingChangeWithoutAReload) {
  const Edge::Door door = edge_.open_site(model::Protocol::http);
  const model::Target one = edge_.room("one"), two = edge_.room("two");
  edge_.put(door.id, "a.example.com", "/", {{one, 10}}).value();
  const lb::RuleRef rule{door.id, {"a.example.com", "/"}};
  EXPECT_EQ(spread_of(door, 4), (std::map<std::string, int>{{"one", 4}}));
  const haproxy::Counts before = edge_.haproxy();

  edge_.lead(rule, {{two, 30}}).value();
  EXPECT_EQ(spread_of(door, 40), (std::map<std::string, int>{{"one", 10}, {"two", 30}}));
  edge_.lead(rule, {{one, 30}}).value();
  EXPECT_EQ(spread_of(door, 40), (std::map<std::string, int>{{"one", 20}, {"two", 20}}));
  edge_.lead(rule, {{one, 0}}).value();
  EXPECT_EQ(spread_of(door, 4), (std::map<std::string, int>{{"two", 4}}));
  edge_.lead(rule, {{one, 10}}, {two}).value();
  EXPECT_EQ(spread_of(door, 4), (std::map<std::string, int>{{"one", 4}}));
  edge_.lead(rule, {{two, 10}}, {one}).value();
  EXPECT_EQ(spread_of(door, 4), (std::map<std::string, int>{{"two", 4}}));

  const haproxy::Counts after = edge_.haproxy();
  EXPECT_EQ(after.reloads, before.reloads);
  EXPECT_EQ(after.worker, before.worker);
}

TEST_F(SiteTest, AReloadCutsNobodyOff) {
  const Edge::Door door = edge_.open_site(model::Protocol::http);
  edge_.put(door.id, "a.example.com", "/", {{edge_.room("one")}}).value();
  Client slow = Client::tcp(door.at);
  ASSERT_TRUE(slow.send(request("a.example.com", "/slow")));
  std::string begun;
  while (!begun.contains("\r\n\r\non")) begun += slow.read_some();
  const haproxy::Counts before = edge_.haproxy();
  edge_.put(door.id, "b.example.com", "/", {{edge_.room("two")}}).value();
  EXPECT_EQ(who(door, "b.example.com", "/"), "two");
  EXPECT_GT(edge_.haproxy().reloads, before.reloads);
  EXPECT_NE(edge_.haproxy().worker, before.worker);
  edge_.rooms[0]->let_go();
  EXPECT_THAT(begun + slow.read(3), HasSubstr("\r\n\r\none\nG"));
}

TEST_F(SiteTest, WhatGoesToATargetThatIsRemovedEndsAlsoInAWorkerOfBefore) {
  const Edge::Door door = edge_.open_site(model::Protocol::http);
  edge_.put(door.id, "a.example.com", "/", {{edge_.room("one")}}).value();
  Client slow = Client::tcp(door.at);
  ASSERT_TRUE(slow.send(request("a.example.com", "/slow")));
  while (!edge_.rooms[0]->asked()) (void)slow.wait(POLLIN, 5);
  edge_.put(door.id, "b.example.com", "/", {{edge_.room("two")}}).value();
  edge_.lead({door.id, {"a.example.com", "/"}}, {}, {edge_.rooms[0]->at()}).value();
  while (!slow.read_some().empty()) {
  }
  EXPECT_NE(slow.error, ETIMEDOUT) << "it still goes to a target that was removed";
}

TEST_F(SiteTest, HAProxyThatDiesComesBackAsItWasWished) {
  const Edge::Door door = edge_.open_site(model::Protocol::http);
  const model::Target one = edge_.room("one"), two = edge_.room("two");
  edge_.put(door.id, "a.example.com", "/", {{one, 10}}).value();
  // Not in any file that a reload wrote.
  edge_.lead({door.id, {"a.example.com", "/"}}, {{two, 10}}, {one}).value();
  const haproxy::Counts before = edge_.haproxy();
  std::atomic<bool> done = false;
  std::jthread traffic([&] {
    while (!done) (void)who(door, "a.example.com", "/");
  });
  ASSERT_EQ(::kill(before.worker, SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return edge_.haproxy().starts > before.starts; }));
  EXPECT_TRUE(eventually([&] { return who(door, "a.example.com", "/") == "two"; }));
  EXPECT_EQ(spread_of(door, 4), (std::map<std::string, int>{{"two", 4}}));
  edge_.put(door.id, "b.example.com", "/", {{one}}).value();
  EXPECT_EQ(who(door, "b.example.com", "/"), "one");
  done = true;
}

TEST_F(SiteTest, FiveHundredRulesOnOnePort) {
  const Edge::Door door = edge_.open_site(model::Protocol::http);
  const model::Target room = edge_.room("room");
  std::vector<lb::NewRule> rules;
  std::vector<lb::TargetChange> leads;
  for (int i = 0; i < 500; ++i) {
    const lb::RuleRef rule{
        door.id, {fmt::format("d{}.example.com", i % 100), fmt::format("/room/{:03}", i)}};
    rules.push_back({rule, {}});
    leads.push_back({rule, {{room}}, {}});
  }
  for (const auto& made : edge_.driver->create_rules(edge_.context, edge_.lb, rules))
    EXPECT_TRUE(made) << made.error().to_string();
  for (const auto& led : edge_.driver->change_targets(edge_.context, edge_.lb, leads))
    EXPECT_TRUE(led) << led.error().to_string();
  for (const int i : {0, 99, 250, 499})
    EXPECT_EQ(who(door, fmt::format("d{}.example.com", i % 100), fmt::format("/room/{:03}/x", i)),
              "room");
  EXPECT_EQ(who(door, "d1.example.com", "/room/000"), "404");
  EXPECT_LE(edge_.haproxy().reloads, 1u) << "one change of many rules is one reload";
}

TEST_F(SiteTest, TextsOfUsersWriteNoConfiguration) {
  const Edge::Door door = edge_.open_site(model::Protocol::http);
  edge_.put(door.id, "a.example.com", "/", {{edge_.room("one")}}).value();
  for (const std::string domain : {"a.com }\n  bind :1", "a b", "$HOME", "\"", "'", "a.com#", "-i",
                                   "*", "a\\x20b", "~^.*$", "a.com\r", "{"}) {
    const auto put = edge_.put(door.id, domain, "/", {});
    ASSERT_FALSE(put) << domain;
    EXPECT_EQ(put.error().code, Code::invalid) << domain;
  }
  for (const std::string path : {"x", "/ b", "/\n", "/\x01", "/\xff", "=/x", "} or {"}) {
    const auto put = edge_.put(door.id, "b.example.com", path, {});
    ASSERT_FALSE(put) << path;
    EXPECT_EQ(put.error().code, Code::invalid) << path;
  }
  // These are paths, and nothing else.
  for (const std::string path :
       {"/$HOME", "/\"x\"", "/'x'", "/\\x41", "/{x}", "/%[src]", "/}", "/-f", "/;x", "/\\"}) {
    ASSERT_TRUE(edge_.put(door.id, "b.example.com", path, {{edge_.room(path)}}));
    EXPECT_EQ(who(door, "b.example.com", path), path) << path;
  }
  EXPECT_EQ(who(door, "b.example.com", "/A"), "404");
  EXPECT_EQ(who(door, "a.example.com", "/"), "one");
}

TEST_F(SiteTest, ATakenPortIsTheErrorOfItsListenerAlone) {
  const Edge::Door good = edge_.open_site(model::Protocol::http);
  const Edge::Door bad = edge_.open_site(model::Protocol::http);
  const Fd other = listen_tcp(bad.at).value();
  edge_.put(good.id, "a.example.com", "/", {{edge_.room("one")}}).value();
  const auto refused = edge_.put(bad.id, "a.example.com", "/", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::already_exists);
  EXPECT_EQ(who(good, "a.example.com", "/"), "one");
}

TEST_F(SiteTest, NobodyIsLedToPlacesOfOurOwn) {
  const Edge::Door door = edge_.open_site(model::Protocol::http);
  const Edge::Door other = edge_.open_door(model::Transport::tcp, {{edge_.open_room()}});
  for (const model::Target& target :
       {model::Target{"169.254.169.254", 80}, model::Target{"0.0.0.0", 80}, other.at, door.at}) {
    const auto led = edge_.put(door.id, "a.example.com", "/", {{target}});
    ASSERT_FALSE(led) << model::to_string(target);
    EXPECT_EQ(led.error().code, Code::invalid);
  }
  EXPECT_EQ(who(door, "a.example.com", "/"), "503");
}

TEST_F(SiteTest, APortThatWasASiteIsFreeForOthers) {
  for (int i = 0; i < 3; ++i) {
    const Edge::Door door = edge_.open_site(model::Protocol::http);
    edge_.put(door.id, "a.example.com", "/", {{edge_.room("one")}}).value();
    EXPECT_EQ(who(door, "a.example.com", "/"), "one");
    EXPECT_TRUE(edge_.driver->remove(edge_.context, edge_.lb, {&door.id, 1}).front());
    EXPECT_TRUE(listen_tcp(door.at)) << "somebody still has the port";
  }
}

TEST(Sites, HealthIsAskedByHttpAndFollowed) {
  BERTH_NEEDS_HAPROXY();
  SiteEdge edge({.second = std::chrono::milliseconds{50}});
  const Edge::Door door = edge.open_site(model::Protocol::http);
  const lb::RuleRef rule{door.id, {"a.example.com", "/"}};
  std::atomic<lb::Health> heard = lb::Health::unknown;
  const auto following = edge.driver->follow(
      edge.lb, rule, [&](const lb::TargetHealth& told) { heard = told.health; });
  const model::Target one = edge.room("one");
  edge.put(door.id, "a.example.com", "/", {{one}},
           {.health_check = model::HealthCheck{.http_path = "/health"}})
      .value();
  EXPECT_TRUE(eventually([&] { return heard == lb::Health::healthy; }));
  edge.rooms[0]->set_status(500);
  EXPECT_TRUE(eventually([&] { return heard == lb::Health::unhealthy; }));
  EXPECT_EQ(get(door.at, "a.example.com", "/").status, 503);
  edge.rooms[0]->set_status(200);
  EXPECT_TRUE(eventually([&] { return heard == lb::Health::healthy; }));
  EXPECT_EQ(get(door.at, "a.example.com", "/").first_line(), "one");
  const std::vector<lb::TargetHealth> last = edge.driver->last(edge.lb);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].target, one);
}

TEST(Sites, WhatWasCarriedIsShownAlsoAfterAReload) {
  BERTH_NEEDS_HAPROXY();
  SiteEdge edge({.second = std::chrono::milliseconds{20}});
  metrics::Registry registry;
  const EdgeMetrics metrics(registry, *edge.driver);
  const Edge::Door door = edge.open_site(model::Protocol::http);
  edge.put(door.id, "a.example.com", "/", {{edge.room("one")}}).value();
  const auto requests = [&] {
    const SiteTallies all = edge.driver->site_totals();
    const auto it = all.find({edge.lb, model::Protocol::http});
    return it == all.end() ? 0 : it->second.requests;
  };
  for (int i = 0; i < 3; ++i) (void)get(door.at, "a.example.com", "/");
  EXPECT_TRUE(eventually([&] { return requests() == 3; }));
  edge.put(door.id, "b.example.com", "/", {}).value();
  for (int i = 0; i < 2; ++i) (void)get(door.at, "a.example.com", "/");
  EXPECT_TRUE(eventually([&] { return requests() == 5; }));
  const std::string text = registry.text();
  EXPECT_THAT(text,
              HasSubstr(fmt::format("berth_edge_requests_total{{lb=\"{}\",protocol=\"HTTP\"}} 5",
                                    model::to_string(edge.lb))));
  EXPECT_THAT(text, HasSubstr("berth_edge_haproxy_reloads_total 1"));
}

TEST(Sites, DrainLetsRequestsFinishAndTakesNoMore) {
  BERTH_NEEDS_HAPROXY();
  SiteEdge edge;
  const Edge::Door door = edge.open_site(model::Protocol::http);
  edge.put(door.id, "a.example.com", "/", {{edge.room("one")}}).value();
  Client slow = Client::tcp(door.at);
  ASSERT_TRUE(slow.send(request("a.example.com", "/slow")));
  ASSERT_TRUE(eventually([&] { return edge.rooms[0]->asked() == 1; }));
  std::atomic<std::size_t> left = 99;
  std::jthread draining([&] { left = edge.driver->drain(edge.context); });
  EXPECT_TRUE(eventually([&] { return get(door.at, "a.example.com", "/").status == 0; }));
  EXPECT_EQ(left, 99u) << "somebody is still there";
  edge.rooms[0]->let_go();
  EXPECT_EQ(read_answer(slow).first_line(), "one");
  slow.reset();  // it might ask for more
  EXPECT_TRUE(eventually([&] { return left == 0u; }));
}

TEST(Sites, SayWhatToInstallWhereThereIsNoHAProxy) {
  Edge edge({.haproxy = [] { return std::string(); }});
  const model::ListenerSpec spec{
      .protocol = model::Protocol::http, .ports = {80, 80}, .name = "web"};
  const auto made = edge.driver->create(edge.context, edge.lb, {&spec, 1}).front();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::unsupported);
  EXPECT_THAT(made.error().to_string(), HasSubstr("install the package haproxy"));
  const auto door = edge.open_door(model::Transport::tcp, {{edge.open_room("room")}});
  EXPECT_EQ(greeting_at(door.at), "room");
}

}  // namespace
}  // namespace berth::edge
