// Checks of the directory: many described at once, and what is found by name, region and tag.
#include <algorithm>

#include "lb/conformance/probe.h"

namespace berth::lb {
namespace {

using model::LoadBalancerInfo;
using model::LoadBalancerRef;

std::vector<LoadBalancerRef> search(Probe& probe, const DirectoryQuery& query) {
  std::vector<LoadBalancerRef> out;
  const auto found = probe.directory().search(probe.context(), {}, query);
  EXPECT_TRUE(found) << found.error().to_string();
  if (!found) return out;
  for (const FoundLoadBalancer& one : *found) out.push_back(one.ref);
  return out;
}

bool has(const std::vector<LoadBalancerRef>& found, const LoadBalancerRef& lb) {
  return std::ranges::find(found, lb) != found.end();
}

LoadBalancerInfo describe(Probe& probe, const LoadBalancerRef& lb) {
  const auto info = describe_one(probe.context(), probe.directory(), lb);
  EXPECT_TRUE(info) << info.error().to_string();
  return info ? *info : LoadBalancerInfo{};
}

void describes_many_in_order(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerInfo first = describe(probe, subject.first());
  const LoadBalancerInfo second = describe(probe, subject.second());
  ASSERT_NE(first, second) << "they could not be told apart";
  const std::vector lbs{subject.second(), subject.first(), subject.first(), subject.second()};
  const auto infos = probe.directory().describe(probe.context(), {}, lbs);
  ASSERT_EQ(infos.size(), lbs.size());
  const std::vector wanted{second, first, first, second};
  for (std::size_t i = 0; i < lbs.size(); ++i) {
    ASSERT_TRUE(infos[i]) << infos[i].error().to_string();
    EXPECT_EQ(*infos[i], wanted[i]) << "number " << i;
  }
}

void one_that_is_unknown_spoils_no_others(Subject& subject) {
  const auto unknown = subject.unknown();
  if (!unknown) return;
  Probe probe(subject);
  const std::vector lbs{subject.first(), *unknown, subject.second()};
  const auto infos = probe.directory().describe(probe.context(), {}, lbs);
  ASSERT_EQ(infos.size(), lbs.size());
  ASSERT_TRUE(infos[0]) << infos[0].error().to_string();
  EXPECT_EQ(*infos[0], describe(probe, subject.first()));
  ASSERT_FALSE(infos[1]);
  EXPECT_EQ(infos[1].error().code, Code::not_found);
  ASSERT_TRUE(infos[2]) << infos[2].error().to_string();
  EXPECT_EQ(*infos[2], describe(probe, subject.second()));
}

void none_are_described_as_none(Subject& subject) {
  Probe probe(subject);
  EXPECT_TRUE(probe.directory().describe(probe.context(), {}, {}).empty());
}

void expired_context_describes_nothing(Subject& subject) {
  Probe probe(subject);
  Context expired = subject.context();
  expired.deadline = expired.tasks.now() - std::chrono::seconds{1};
  const std::vector lbs{subject.first(), subject.second()};
  const auto infos = probe.directory().describe(expired, {}, lbs);
  ASSERT_EQ(infos.size(), lbs.size()) << "one outcome for each, also when none was asked for";
  EXPECT_FALSE(infos[0]);
  EXPECT_FALSE(infos[1]);
  EXPECT_FALSE(probe.directory().search(expired, {}, {}));
}

void load_balancers_are_found_by_name(Subject& subject) {
  Probe probe(subject);
  for (const LoadBalancerRef& lb : {subject.first(), subject.second()}) {
    const LoadBalancerInfo info = describe(probe, lb);
    const auto found =
        search(probe, {.account = lb.account, .region = lb.region, .name = info.name});
    ASSERT_EQ(found.size(), 1u) << "of the name " << info.name;
    EXPECT_EQ(found[0], lb);
  }
}

void what_is_found_is_described(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerInfo info = describe(probe, subject.first());
  const auto found = probe.directory().search(probe.context(), {}, {.name = info.name});
  ASSERT_TRUE(found) << found.error().to_string();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().info.name, info.name);
  EXPECT_EQ(found->front().info.vips, info.vips);
  EXPECT_EQ(found->front().info.dns_name, info.dns_name);
}

void unknown_names_find_nothing(Subject& subject) {
  const auto unknown = subject.unknown();
  if (!unknown) return;
  Probe probe(subject);
  EXPECT_TRUE(search(probe, {.name = unknown->id}).empty());
  const std::string name = describe(probe, subject.first()).name;
  EXPECT_FALSE(has(search(probe, {.region = subject.elsewhere(), .name = name}), subject.first()));
}

void tags_that_nobody_has_find_nothing(Subject& subject) {
  Probe probe(subject);
  const std::string name = describe(probe, subject.first()).name;
  EXPECT_TRUE(search(probe, {.tags = {{"nobody", "has-it"}}}).empty());
  EXPECT_TRUE(search(probe, {.name = name, .tags = {{"nobody", "has-it"}}}).empty());
}

}  // namespace

std::vector<Check> directory_checks() {
  return {
      {"DescribesManyInOrder", describes_many_in_order},
      {"OneThatIsUnknownSpoilsNoOthers", one_that_is_unknown_spoils_no_others},
      {"NoneAreDescribedAsNone", none_are_described_as_none},
      {"ExpiredContextDescribesNothing", expired_context_describes_nothing},
      {"LoadBalancersAreFoundByName", load_balancers_are_found_by_name},
      {"WhatIsFoundIsDescribed", what_is_found_is_described},
      {"UnknownNamesFindNothing", unknown_names_find_nothing},
      {"TagsThatNobodyHasFindNothing", tags_that_nobody_has_find_nothing},
  };
}

}  // namespace berth::lb
