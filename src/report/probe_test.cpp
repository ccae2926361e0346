#include "report/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/test_support.h"

namespace berth::report {
namespace {

using ::testing::AllOf;
using testing::claim_of;
using testing::cluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::hold;
using ::testing::IsEmpty;
using testing::listener_at;
using testing::put;
using wire::Object;

api::Listener leading(model::Port port, const ledger::Claim& claim) {
  api::Listener out = claims::testing::with_claim(listener_at(port), claim);
  out.spec.target_group =
      api::ListenerTargetGroup{.protocol = "TCP", .backends = {{.ip = "10.0.0.1", .port = 8000}}};
  return out;
}

// room-0 has port 30000, and somebody else 30001.
ExplainView view() {
  ExplainView out{.cluster = cluster(), .kind = "Pod", .key = {"games", "room-0"}};
  out.pod = Object{{"metadata", Object{{"uid", "uid-of-room-0"}}}};
  put(out.cluster, leading(30000, claim_of("room-0")));
  put(out.cluster, leading(30001, claim_of("room-1")));
  return out;
}

const Way kWay{"TCP", {"10.0.0.1", 8000}, {"1.1.1.1", 30000}};
const Result<> kSilence = fail(Code::timeout, "no answer in 3 s");
const Result<> kRefused = fail(Code::unavailable, "Connection refused");

TEST(Probe, OnlyWhatThePodHasIsTried) {
  EXPECT_THAT(ways_of(view()), ElementsAre(kWay));
  ExplainView low = view();
  low.cluster.balancers[0].status.low_port_limit = 30001;
  low.cluster.balancers[0].status.low_port_offset = 20000;
  EXPECT_EQ(ways_of(low).at(0).open_at.port, 50000) << "where it is open";
  ExplainView udp = view();
  api::Listener listener = leading(30000, claim_of("room-0"));
  listener.spec.protocol = "UDP";
  put(udp.cluster, listener);
  EXPECT_THAT(ways_of(udp), IsEmpty()) << "datagrams need no answer";
  ExplainView unbound = view();
  hold(unbound.cluster, 30000, claim_of("room-0"));
  EXPECT_THAT(ways_of(unbound), IsEmpty());
}

TEST(Probe, ThePodsOwnAddressIsTriedFirst) {
  std::vector<std::string> knocked;
  Explanation told;
  probe(
      view(),
      [&](const model::Target& at) {
        knocked.push_back(model::to_string(at));
        return Result<>{};
      },
      told);
  EXPECT_THAT(knocked, ElementsAre("10.0.0.1:8000", "1.1.1.1:30000"));
  EXPECT_TRUE(told.ready());
}

TEST(Probe, OfManyAFewAreTried) {
  ExplainView many = view();
  many.cluster.balancers[0].status.vips.assign(20, "1.1.1.1");
  std::size_t knocks = 0;
  Explanation told;
  probe(
      many,
      [&](const model::Target&) {
        ++knocks;
        return kSilence;
      },
      told);
  EXPECT_EQ(knocks, 2 * kMostWays);
}

// Bound, and not reached: what is at fault?
TEST(Probe, WhatTheTwoSayTogether) {
  EXPECT_EQ(judge(kWay, {}, {}).verdict, Verdict::good);
  EXPECT_EQ(judge(kWay, kSilence, {}).verdict, Verdict::good) << "we are outside of the cluster";

  const Step blocked = judge(kWay, {}, kSilence);
  EXPECT_EQ(blocked.verdict, Verdict::bad);
  EXPECT_THAT(blocked.what,
              HasSubstr("10.0.0.1:8000 itself answers, and TCP 1.1.1.1:30000 does not"));
  EXPECT_THAT(blocked.fix, AllOf(HasSubstr("security group"), HasSubstr("clients in at port 30000"),
                                 HasSubstr("to port 8000"), HasSubstr("healthy")));

  const Step deaf = judge(kWay, kRefused, kRefused);
  EXPECT_EQ(deaf.verdict, Verdict::bad);
  EXPECT_THAT(deaf.what, HasSubstr("10.0.0.1:8000 itself does not take connections"));
  EXPECT_THAT(deaf.fix, AllOf(HasSubstr("listens at port 8000"), HasSubstr("127.0.0.1")));

  const Step unknown = judge(kWay, kSilence, kSilence);
  EXPECT_EQ(unknown.verdict, Verdict::bad);
  EXPECT_THAT(unknown.fix, AllOf(HasSubstr("from a node or a Pod"), HasSubstr("security group")));
}

TEST(Probe, WhatWasWrongIsNotSaidOnceItIsMended) {
  const auto told_when = [](const Knock& knock) {
    Explanation told;
    probe(view(), knock, told);
    return told;
  };
  const auto is_load_balancer = [](const model::Target& at) { return at.ip == "1.1.1.1"; };
  const Explanation blocked = told_when(
      [&](const model::Target& at) { return is_load_balancer(at) ? kSilence : Result<>{}; });
  EXPECT_FALSE(blocked.ready());
  EXPECT_THAT(to_text(blocked), HasSubstr("security group"));
  const Explanation deaf = told_when([](const model::Target&) { return kRefused; });
  EXPECT_FALSE(deaf.ready());
  EXPECT_THAT(to_text(deaf), HasSubstr("127.0.0.1"));
  const Explanation mended = told_when([](const model::Target&) { return Result<>{}; });
  EXPECT_TRUE(mended.ready());
  for (const char* const words : {"security group", "127.0.0.1", "does not"})
    EXPECT_THAT(to_text(mended), ::testing::Not(HasSubstr(words)));
}

TEST(Probe, NothingToTryIsSaid) {
  ExplainView none = view();
  none.cluster.listeners.clear();
  Explanation told;
  probe(none, [](const model::Target&) { return Result<>{}; }, told);
  ASSERT_EQ(told.steps.size(), 1u);
  EXPECT_THAT(told.steps[0].what, HasSubstr("nothing to try"));
}

}  // namespace
}  // namespace berth::report
