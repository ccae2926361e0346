// Checks of what listeners do: targets and attributes.

#include "lb/conformance/probe.h"
#include "lb/inventory.h"

namespace berth::lb {
namespace {

using model::ListenerId;
using model::ListenerSpec;
using model::LoadBalancerRef;
using model::RuleAttributes;

void targets_are_added_and_removed(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0));
  EXPECT_TRUE(probe.change(lb, TargetChange{{id}, {probe.target(1), probe.target(2)}, {}}));
  EXPECT_EQ(probe.targets(lb, {id}), probe.sorted({probe.target(1), probe.target(2)}));
  EXPECT_TRUE(probe.change(lb, TargetChange{{id}, {probe.target(3)}, {probe.target(1).target}}));
  EXPECT_EQ(probe.targets(lb, {id}), probe.sorted({probe.target(2), probe.target(3)}));
  EXPECT_TRUE(
      probe.change(lb, TargetChange{{id}, {}, {probe.target(2).target, probe.target(3).target}}));
  EXPECT_TRUE(probe.targets(lb, {id}).empty());
}

void target_changes_can_be_repeated(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0));
  const TargetChange change{{id}, {probe.target(1)}, {probe.target(2).target}};
  for (int i = 0; i < 2; ++i) {
    const auto result = probe.change(lb, change);
    EXPECT_TRUE(result) << result.error().to_string();
  }
  EXPECT_EQ(probe.targets(lb, {id}), probe.sorted({probe.target(1)}));
}

void adding_a_target_again_changes_its_weight(Subject& subject) {
  Probe probe(subject);
  if (!subject.has_weights()) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0));
  EXPECT_TRUE(probe.change(lb, TargetChange{{id}, {probe.target(1), probe.target(2)}, {}}));
  EXPECT_TRUE(probe.change(lb, TargetChange{{id}, {probe.target(1, 50)}, {}}));
  EXPECT_EQ(probe.targets(lb, {id}), probe.sorted({probe.target(1, 50), probe.target(2)}));
  EXPECT_TRUE(probe.change(lb, TargetChange{{id}, {probe.target(2, 0)}, {}}));
  EXPECT_EQ(probe.targets(lb, {id}), probe.sorted({probe.target(1, 50), probe.target(2, 0)}));
}

void target_changes_of_an_unknown_listener_are_not_found(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId gone = probe.create(lb, probe.spec(0));
  const ListenerId there = probe.create(lb, probe.spec(1));
  EXPECT_TRUE(probe.remove(lb, gone));
  if (probe.abilities().target_batch < 2) return;
  const std::vector<TargetChange> changes{{{gone}, {probe.target(1)}, {}},
                                          {{there}, {probe.target(2)}, {}}};
  const auto results = probe.driver().change_targets(probe.context(), lb, changes);
  ASSERT_EQ(results.size(), 2u);
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, Code::not_found);
  EXPECT_TRUE(results[1]) << "the others of the batch must not suffer";
  EXPECT_EQ(probe.targets(lb, {there}), probe.sorted({probe.target(2)}));
}

void attribute_changes_of_an_unknown_listener_are_not_found(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId gone = probe.create(lb, probe.spec(0));
  EXPECT_TRUE(probe.remove(lb, gone));
  const auto changed = probe.change(lb, ListenerChange{gone, {}});
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, Code::not_found);
  const auto rule_changed = probe.change(lb, RuleChange{{gone}, {}});
  ASSERT_FALSE(rule_changed);
  EXPECT_EQ(rule_changed.error().code, Code::not_found);
}

void full_batch_of_targets_goes_in_one_call(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0));
  TargetChange change{.rule = {id}};
  const int count = static_cast<int>(std::min<std::size_t>(probe.abilities().target_batch, 250));
  for (int i = 0; i < count; ++i) change.add.push_back(probe.target(i));
  const auto result = probe.change(lb, change);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(probe.targets(lb, {id}), probe.sorted(change.add));
}

void attributes_come_back_as_asked(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const RuleAttributes asked = subject.kept(RuleAttributes{
      .scheduler = model::Scheduler::least_connections,
      .session_seconds = 60,
      .health_check = model::HealthCheck{
          .timeout_seconds = 3, .interval_seconds = 7, .healthy_count = 2, .unhealthy_count = 4}});
  ListenerSpec spec = probe.spec(0);
  spec.rules[0].attributes = asked;
  const ListenerId id = probe.create(lb, spec);
  EXPECT_TRUE(agrees(asked, probe.rule(lb, {id}).attributes));

  const RuleAttributes changed = subject.kept(RuleAttributes{
      .scheduler = asked.scheduler, .health_check = model::HealthCheck{.enabled = false}});
  const auto result = probe.change(lb, RuleChange{{id}, changed});
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_TRUE(agrees(changed, probe.rule(lb, {id}).attributes));
}

void session_types_come_back_as_asked(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  ListenerSpec spec = probe.spec(0, model::Protocol::udp);
  spec.rules[0].attributes = subject.kept(RuleAttributes{.session_by_quic_id = true});
  const ListenerId id = probe.create(lb, spec);
  EXPECT_TRUE(agrees(spec.rules[0].attributes, probe.rule(lb, {id}).attributes));
  for (const bool by_id : {false, true}) {
    const RuleAttributes wished = subject.kept(RuleAttributes{.session_by_quic_id = by_id});
    probe.expect_change(lb, RuleChange{{id}, wished}, probe.rule(lb, {id}).attributes);
    EXPECT_TRUE(agrees(wished, probe.rule(lb, {id}).attributes));
  }
}

// What cannot be changed is said before, and refused to whoever tries.
void scheduler_changes_or_is_refused(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0));
  const RuleAttributes before = probe.rule(lb, {id}).attributes;
  RuleAttributes after = before;
  after.scheduler = model::Scheduler::least_connections;
  probe.expect_change(lb, RuleChange{{id}, subject.kept(after)}, before);
}

void attribute_changes_leave_targets_alone(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0));
  EXPECT_TRUE(probe.change(lb, TargetChange{{id}, {probe.target(1)}, {}}));
  EXPECT_TRUE(
      probe.change(lb, RuleChange{{id}, subject.kept(RuleAttributes{.session_seconds = 30})}));
  EXPECT_EQ(probe.targets(lb, {id}), probe.sorted({probe.target(1)}));
}

}  // namespace

std::vector<Check> target_checks() {
  return {
      {"TargetsAreAddedAndRemoved", targets_are_added_and_removed},
      {"TargetChangesCanBeRepeated", target_changes_can_be_repeated},
      {"AddingATargetAgainChangesItsWeight", adding_a_target_again_changes_its_weight},
      {"TargetChangesOfAnUnknownListenerAreNotFound",
       target_changes_of_an_unknown_listener_are_not_found},
      {"AttributeChangesOfAnUnknownListenerAreNotFound",
       attribute_changes_of_an_unknown_listener_are_not_found},
      {"FullBatchOfTargetsGoesInOneCall", full_batch_of_targets_goes_in_one_call},
      {"AttributesComeBackAsAsked", attributes_come_back_as_asked},
      {"SessionTypesComeBackAsAsked", session_types_come_back_as_asked},
      {"SchedulerChangesOrIsRefused", scheduler_changes_or_is_refused},
      {"AttributeChangesLeaveTargetsAlone", attribute_changes_leave_targets_alone},
  };
}

}  // namespace berth::lb
