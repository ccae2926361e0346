// Checks of load balancers that we make and remove ourselves.
#include <algorithm>

#include "lb/conformance/probe.h"

namespace berth::lb {
namespace {

using model::LoadBalancerRef;

Result<LoadBalancerRef> try_make(Probe& probe, const NewLoadBalancer& wanted) {
  auto results = probe.maker().make(probe.context(), {}, {&wanted, 1});
  if (results.size() != 1) return fail(Code::internal, "{} results for one", results.size());
  return std::move(results[0]);
}

LoadBalancerRef make(Probe& probe, const NewLoadBalancer& wanted) {
  const auto made = try_make(probe, wanted);
  EXPECT_TRUE(made) << made.error().to_string();
  return made ? *made : LoadBalancerRef{};
}

Result<> remove(Probe& probe, const LoadBalancerRef& lb, const Tag& mark) {
  auto results = probe.maker().remove(probe.context(), {}, {&lb, 1}, mark);
  if (results.size() != 1) return fail(Code::internal, "{} results for one", results.size());
  return std::move(results[0]);
}

std::vector<FoundLoadBalancer> search(Probe& probe, const DirectoryQuery& query) {
  auto found = probe.directory().search(probe.context(), {}, query);
  EXPECT_TRUE(found) << found.error().to_string();
  return found ? std::move(*found) : std::vector<FoundLoadBalancer>{};
}

Code code_of_description(Probe& probe, const LoadBalancerRef& lb) {
  const auto info = describe_one(probe.context(), probe.directory(), lb);
  EXPECT_FALSE(info) << to_string(lb) << " is there";
  return info ? Code::internal : info.error().code;
}

void made_load_balancer_serves(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = make(probe, subject.wanted(0));
  const auto info = describe_one(probe.context(), probe.directory(), lb);
  ASSERT_TRUE(info) << info.error().to_string();
  EXPECT_EQ(info->name, subject.wanted(0).name);
  EXPECT_TRUE(!info->vips.empty() || !info->dns_name.empty());
  EXPECT_TRUE(probe.list(lb).empty());
  const model::ListenerId id = probe.create(lb, probe.spec(0));
  EXPECT_TRUE(probe.find(lb, id));
  EXPECT_TRUE(probe.list(subject.first()).empty());
}

void made_load_balancer_is_found_by_name_and_tags(Subject& subject) {
  Probe probe(subject);
  const NewLoadBalancer wanted = subject.wanted(0);
  const LoadBalancerRef lb = make(probe, wanted);
  const LoadBalancerRef other = make(probe, subject.wanted(1));
  const auto by_name = search(probe, {.region = wanted.region, .name = wanted.name});
  ASSERT_EQ(by_name.size(), 1u);
  EXPECT_EQ(by_name[0].ref, lb);
  for (const Tag& tag : wanted.tags)
    EXPECT_EQ(std::ranges::count(by_name[0].tags, tag), 1) << tag.key;
  const auto by_tags = search(probe, {.tags = wanted.tags});
  ASSERT_EQ(by_tags.size(), 1u) << "all of the tags, not any of them";
  EXPECT_EQ(by_tags[0].ref, lb);
  const auto by_mark = search(probe, {.tags = {subject.mark()}});
  EXPECT_EQ(by_mark.size(), 2u);
  EXPECT_EQ(std::ranges::count(by_mark, other, &FoundLoadBalancer::ref), 1);
}

void making_twice_gives_the_same(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = make(probe, subject.wanted(0));
  const model::ListenerId id = probe.create(lb, probe.spec(0));
  EXPECT_EQ(make(probe, subject.wanted(0)), lb);
  EXPECT_TRUE(probe.find(lb, id)) << "it was made anew";
  EXPECT_EQ(search(probe, {.name = subject.wanted(0).name}).size(), 1u);
}

void several_are_made_in_order(Subject& subject) {
  Probe probe(subject);
  const std::vector wanted{subject.wanted(2), subject.wanted(0), subject.wanted(1)};
  const auto made = probe.maker().make(probe.context(), {}, wanted);
  ASSERT_EQ(made.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_TRUE(made[i]) << made[i].error().to_string();
    const auto info = describe_one(probe.context(), probe.directory(), *made[i]);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->name, wanted[i].name);
  }
}

// Wherever its maker died, it is there once when somebody has asked again, with all its tags.
void making_that_was_cut_off_is_found_again(Subject& subject) {
  Probe probe(subject);
  probe.cut_off([&](int n) { return try_make(probe, subject.wanted(n)).has_value(); },
                [&](int n) {
                  const NewLoadBalancer wanted = subject.wanted(n);
                  const LoadBalancerRef lb = make(probe, wanted);
                  const auto found = search(probe, {.region = wanted.region, .name = wanted.name});
                  ASSERT_EQ(found.size(), 1u);
                  EXPECT_EQ(found[0].ref, lb);
                  for (const Tag& tag : wanted.tags)
                    EXPECT_EQ(std::ranges::count(found[0].tags, tag), 1) << tag.key;
                });
}

void name_of_anothers_already_exists(Subject& subject) {
  Probe probe(subject);
  const NewLoadBalancer wanted = subject.wanted(0);
  const LoadBalancerRef lb = make(probe, wanted);
  NewLoadBalancer other = wanted;
  other.tags.push_back({"made-by", "somebody else"});
  const auto made = try_make(probe, other);
  ASSERT_FALSE(made) << "what somebody else made was taken";
  EXPECT_EQ(made.error().code, Code::already_exists);
  const auto found = search(probe, {.region = wanted.region, .name = wanted.name});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].ref, lb);
  EXPECT_EQ(std::ranges::count(found[0].tags, other.tags.back()), 0);
}

void removal_leaves_what_is_not_ours(Subject& subject) {
  Probe probe(subject);
  const model::ListenerId id = probe.create(subject.first(), probe.spec(0));
  const auto removed = remove(probe, subject.first(), subject.mark());
  ASSERT_FALSE(removed) << "a load balancer that we did not make was removed";
  EXPECT_EQ(removed.error().code, Code::forbidden);
  EXPECT_TRUE(probe.find(subject.first(), id));
  const LoadBalancerRef made = make(probe, subject.wanted(0));
  const Tag other{subject.mark().key, subject.mark().value + "-2"};
  const auto again = remove(probe, made, other);
  ASSERT_FALSE(again) << "the mark of another cluster is not ours";
  EXPECT_EQ(again.error().code, Code::forbidden);
  EXPECT_TRUE(probe.list(made).empty());
}

void removal_takes_listeners_along(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = make(probe, subject.wanted(0));
  const LoadBalancerRef other = make(probe, subject.wanted(1));
  (void)probe.create(lb, probe.spec(0));
  const model::ListenerId stays = probe.create(other, probe.spec(0));
  for (int i = 0; i < 2; ++i) {
    const auto removed = remove(probe, lb, subject.mark());
    EXPECT_TRUE(removed) << removed.error().to_string();
  }
  EXPECT_EQ(code_of_description(probe, lb), Code::not_found);
  EXPECT_TRUE(search(probe, {.name = subject.wanted(0).name}).empty());
  EXPECT_TRUE(probe.find(other, stays));
  const LoadBalancerRef again = make(probe, subject.wanted(0));
  EXPECT_TRUE(probe.list(again).empty()) << "listeners of the one before";
}

void removal_of_several_succeeds_in_part(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef gone = make(probe, subject.wanted(0));
  const LoadBalancerRef there = make(probe, subject.wanted(1));
  EXPECT_TRUE(remove(probe, gone, subject.mark()));
  const std::vector lbs{gone, subject.first(), there};
  const auto removed = probe.maker().remove(probe.context(), {}, lbs, subject.mark());
  ASSERT_EQ(removed.size(), lbs.size());
  EXPECT_TRUE(removed[0]);
  ASSERT_FALSE(removed[1]);
  EXPECT_EQ(removed[1].error().code, Code::forbidden);
  EXPECT_TRUE(removed[2]);
  EXPECT_EQ(code_of_description(probe, there), Code::not_found);
}

void removal_that_was_cut_off_is_finished(Subject& subject) {
  Probe probe(subject);
  LoadBalancerRef lb = make(probe, subject.wanted(0));
  probe.cut_off([&](int) { return remove(probe, lb, subject.mark()).has_value(); },
                [&](int) {
                  const auto removed = remove(probe, lb, subject.mark());
                  EXPECT_TRUE(removed) << removed.error().to_string();
                  EXPECT_EQ(code_of_description(probe, lb), Code::not_found);
                  lb = make(probe, subject.wanted(0));
                });
}

void regions_are_apart(Subject& subject) {
  Probe probe(subject);
  const NewLoadBalancer here = subject.wanted(0);
  NewLoadBalancer there = here;
  there.region = subject.elsewhere();
  const LoadBalancerRef first = make(probe, here);
  const LoadBalancerRef second = make(probe, there);
  EXPECT_NE(first, second);
  EXPECT_EQ(first.region, here.region);
  EXPECT_EQ(second.region, there.region);
  for (const auto& [region, lb] :
       {std::pair(here.region, first), std::pair(there.region, second)}) {
    const auto found = search(probe, {.region = region, .name = here.name});
    ASSERT_EQ(found.size(), 1u) << region;
    EXPECT_EQ(found[0].ref, lb);
  }
  EXPECT_TRUE(remove(probe, first, subject.mark()));
  EXPECT_TRUE(probe.list(second).empty()) << "it went with its namesake";
}

void expired_context_makes_nothing(Subject& subject) {
  Probe probe(subject);
  Context expired = subject.context();
  expired.deadline = expired.tasks.now() - std::chrono::seconds{1};
  const std::vector wanted{subject.wanted(0), subject.wanted(1)};
  const auto made = probe.maker().make(expired, {}, wanted);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_FALSE(made[0]);
  EXPECT_FALSE(made[1]);
  EXPECT_TRUE(search(probe, {.tags = {subject.mark()}}).empty());
  EXPECT_TRUE(search(probe, {.name = wanted[0].name}).empty());
}

void load_balancers_come_from_elsewhere(Subject& subject) {
  EXPECT_EQ(subject.driver().maker, nullptr) << "ask for the checks of makers";
}

}  // namespace

std::vector<Check> maker_checks() {
  return {
      {"MadeLoadBalancerServes", made_load_balancer_serves},
      {"MadeLoadBalancerIsFoundByNameAndTags", made_load_balancer_is_found_by_name_and_tags},
      {"MakingTwiceGivesTheSame", making_twice_gives_the_same},
      {"SeveralAreMadeInOrder", several_are_made_in_order},
      {"MakingThatWasCutOffIsFoundAgain", making_that_was_cut_off_is_found_again},
      {"NameOfAnothersAlreadyExists", name_of_anothers_already_exists},
      {"RemovalLeavesWhatIsNotOurs", removal_leaves_what_is_not_ours},
      {"RemovalTakesListenersAlong", removal_takes_listeners_along},
      {"RemovalOfSeveralSucceedsInPart", removal_of_several_succeeds_in_part},
      {"RemovalThatWasCutOffIsFinished", removal_that_was_cut_off_is_finished},
      {"RegionsAreApart", regions_are_apart},
      {"ExpiredContextMakesNothing", expired_context_makes_nothing},
  };
}

std::vector<Check> checks_without_maker() {
  return {{"LoadBalancersComeFromElsewhere", load_balancers_come_from_elsewhere}};
}

}  // namespace berth::lb
