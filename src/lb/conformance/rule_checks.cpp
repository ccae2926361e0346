// Checks of layer 7: rules by domain and path, attributes of listeners, certificates.

#include "lb/conformance/probe.h"
#include "lb/inventory.h"

namespace berth::lb {
namespace {

using model::ListenerAttributes;
using model::ListenerId;
using model::ListenerSpec;
using model::LoadBalancerRef;
using model::Protocol;
using model::RuleAttributes;

void created_listener_of_layer_7_has_no_rules(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  ListenerSpec spec = probe.spec(0, Protocol::http);
  spec.rules = {{.key = probe.key(0), .targets = {probe.target(1)}}};
  const ListenerId id = probe.create(subject.first(), spec);
  const ListenerSpec listed = probe.listed(subject.first(), id);
  EXPECT_EQ(listed.protocol, Protocol::http);
  EXPECT_EQ(listed.ports, spec.ports);
  EXPECT_EQ(listed.name, spec.name);
  EXPECT_TRUE(listed.rules.empty());
}

void rules_are_listed_in_order(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0, Protocol::http));
  for (const int n : {3, 0, 2, 1}) {
    const auto made = probe.create(lb, NewRule{probe.ref(id, n), {}});
    EXPECT_TRUE(made) << made.error().to_string();
  }
  EXPECT_EQ(probe.keys(lb, id), probe.keys({0, 1, 2, 3}));
  for (const int n : {0, 1, 2, 3}) EXPECT_TRUE(probe.targets(lb, probe.ref(id, n)).empty());
}

void created_rule_has_its_attributes(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0, Protocol::http));
  const RuleAttributes asked =
      subject.kept(RuleAttributes{.scheduler = model::Scheduler::least_connections,
                                  .session_seconds = 60,
                                  .health_check = model::HealthCheck{.interval_seconds = 7,
                                                                     .unhealthy_count = 4,
                                                                     .http_path = "/healthy",
                                                                     .http_method = "GET"}});
  EXPECT_TRUE(probe.create(lb, NewRule{probe.ref(id, 0), asked}));
  EXPECT_TRUE(agrees(asked, probe.rule(lb, probe.ref(id, 0)).attributes));
}

// As after a lost reply: nobody knows which of them are there.
void creation_of_rules_can_be_repeated(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create_with_rules(lb, probe.spec(0, Protocol::http), 1);
  EXPECT_TRUE(probe.change(lb, TargetChange{probe.ref(id, 0), {probe.target(1)}, {}}));
  for (const int n : {0, 1, 1}) {
    const auto again = probe.create(lb, NewRule{probe.ref(id, n), {}});
    EXPECT_TRUE(again) << again.error().to_string();
  }
  EXPECT_EQ(probe.keys(lb, id), probe.keys({0, 1}));
  EXPECT_EQ(probe.targets(lb, probe.ref(id, 0)), probe.sorted({probe.target(1)}));
}

void creation_of_a_rule_that_is_there_changes_it(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create_with_rules(lb, probe.spec(0, Protocol::http), 2);
  const auto wished = subject.kept(RuleAttributes{.session_seconds = 30});
  EXPECT_TRUE(probe.create(lb, NewRule{probe.ref(id, 0), wished}));
  EXPECT_EQ(probe.keys(lb, id), probe.keys({0, 1}));
  EXPECT_TRUE(agrees(wished, probe.rule(lb, probe.ref(id, 0)).attributes));
  EXPECT_TRUE(agrees(RuleAttributes{}, probe.rule(lb, probe.ref(id, 1)).attributes));
}

void removed_rule_is_gone_and_the_others_stay(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create_with_rules(lb, probe.spec(0, Protocol::http), 3);
  EXPECT_TRUE(probe.change(lb, TargetChange{probe.ref(id, 1), {probe.target(1)}, {}}));
  EXPECT_TRUE(probe.change(lb, TargetChange{probe.ref(id, 2), {probe.target(2)}, {}}));
  for (int i = 0; i < 2; ++i) {
    const auto removed = probe.remove(lb, probe.ref(id, 1));
    EXPECT_TRUE(removed) << "one that is gone is a success: " << removed.error().to_string();
    EXPECT_EQ(probe.keys(lb, id), probe.keys({0, 2}));
  }
  EXPECT_EQ(probe.targets(lb, probe.ref(id, 2)), probe.sorted({probe.target(2)}));
  EXPECT_TRUE(probe.create(lb, NewRule{probe.ref(id, 1), {}}));
  EXPECT_TRUE(probe.targets(lb, probe.ref(id, 1)).empty()) << "targets came back with the rule";
}

void rule_changes_touch_no_other_rule(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create_with_rules(lb, probe.spec(0, Protocol::http), 2);
  for (const int n : {0, 1}) {
    EXPECT_TRUE(probe.change(lb, TargetChange{probe.ref(id, n), {probe.target(n)}, {}}));
  }
  const auto other = probe.rule(lb, probe.ref(id, 1));
  const RuleChange change{probe.ref(id, 0), subject.kept(RuleAttributes{.session_seconds = 30})};
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(probe.change(lb, change));
    EXPECT_TRUE(agrees(change.attributes, probe.rule(lb, probe.ref(id, 0)).attributes));
  }
  EXPECT_EQ(probe.targets(lb, probe.ref(id, 0)), probe.sorted({probe.target(0)}));
  EXPECT_TRUE(probe.rule(lb, probe.ref(id, 1)) == other);
}

void targets_of_rules_are_independent(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create_with_rules(lb, probe.spec(0, Protocol::http), 2);
  const RuleRef a = probe.ref(id, 0);
  const RuleRef b = probe.ref(id, 1);
  EXPECT_TRUE(probe.change(lb, TargetChange{a, {probe.target(1), probe.target(2)}, {}}));
  EXPECT_TRUE(probe.targets(lb, b).empty());
  EXPECT_TRUE(probe.change(lb, TargetChange{b, {probe.target(1, 50)}, {}}));
  EXPECT_EQ(probe.targets(lb, a), probe.sorted({probe.target(1), probe.target(2)}));
  EXPECT_EQ(probe.targets(lb, b), probe.sorted({probe.target(1, 50)}));
  EXPECT_TRUE(probe.change(lb, TargetChange{a, {}, {probe.target(1).target}}));
  EXPECT_EQ(probe.targets(lb, a), probe.sorted({probe.target(2)}));
  EXPECT_EQ(probe.targets(lb, b), probe.sorted({probe.target(1, 50)}));
}

void removed_listener_takes_its_rules_along(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create_with_rules(lb, probe.spec(0, Protocol::http), 2);
  EXPECT_TRUE(probe.change(lb, TargetChange{probe.ref(id, 0), {probe.target(1)}, {}}));
  EXPECT_TRUE(probe.remove(lb, id));
  EXPECT_TRUE(probe.list(lb).empty());
  const auto gone = probe.remove(lb, probe.ref(id, 0));
  EXPECT_TRUE(gone) << "it went with its listener: " << gone.error().to_string();
  const ListenerId fresh = probe.create(lb, probe.spec(0, Protocol::http));
  EXPECT_TRUE(probe.keys(lb, fresh).empty());
}

void rules_of_an_unknown_listener_are_not_found(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId gone = probe.create_with_rules(lb, probe.spec(0, Protocol::http), 1);
  EXPECT_TRUE(probe.remove(lb, gone));
  for (const auto& result :
       {probe.create(lb, NewRule{probe.ref(gone, 0), {}}),
        probe.change(lb, RuleChange{probe.ref(gone, 0), {}}),
        probe.change(lb, TargetChange{probe.ref(gone, 0), {probe.target(1)}, {}})}) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::not_found);
  }
  const ListenerId there = probe.create(lb, probe.spec(1, Protocol::http));
  if (probe.abilities().rule_batch < 2) return;
  const std::vector<NewRule> rules{{probe.ref(gone, 0), {}}, {probe.ref(there, 0), {}}};
  const auto results = probe.driver().create_rules(probe.context(), lb, rules);
  ASSERT_EQ(results.size(), 2u);
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, Code::not_found);
  EXPECT_TRUE(results[1]) << "the others of the batch must not suffer";
  EXPECT_EQ(probe.keys(lb, there), probe.keys({0}));
}

void unknown_rules_are_not_found(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create_with_rules(lb, probe.spec(0, Protocol::http), 1);
  for (const auto& result :
       {probe.change(lb, RuleChange{probe.ref(id, 1), {}}),
        probe.change(lb, TargetChange{probe.ref(id, 1), {probe.target(1)}, {}})}) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::not_found);
  }
  EXPECT_EQ(probe.keys(lb, id), probe.keys({0}));
  EXPECT_TRUE(probe.targets(lb, probe.ref(id, 0)).empty());
}

void keys_belong_to_layer_7(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId http = probe.create(lb, probe.spec(0, Protocol::http));
  const ListenerId tcp = probe.create(lb, probe.spec(1, Protocol::tcp));
  for (const auto& result :
       {probe.create(lb, NewRule{{http}, {}}), probe.create(lb, NewRule{probe.ref(tcp, 0), {}})}) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::invalid);
  }
  EXPECT_TRUE(probe.keys(lb, http).empty());
  EXPECT_EQ(probe.listed(lb, tcp).rules.size(), 1u);
}

void full_batch_of_rules_goes_in_one_call(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0, Protocol::http));
  const int count = static_cast<int>(std::min<std::size_t>(probe.abilities().rule_batch, 50));
  const auto wished = subject.kept(RuleAttributes{.session_seconds = 30});
  std::vector<NewRule> fresh;
  std::vector<RuleChange> changes;
  std::vector<RuleRef> refs;
  for (int i = 0; i < count; ++i) {
    refs.push_back(probe.ref(id, i));
    fresh.push_back({refs.back(), {}});
    changes.push_back({refs.back(), wished});
  }
  const auto all_succeed = [&](const std::vector<Result<>>& results) {
    EXPECT_EQ(results.size(), refs.size());
    for (const auto& result : results) EXPECT_TRUE(result) << result.error().to_string();
  };
  all_succeed(probe.driver().create_rules(probe.context(), lb, fresh));
  EXPECT_EQ(probe.keys(lb, id).size(), refs.size());
  all_succeed(probe.driver().change_rules(probe.context(), lb, changes));
  for (const model::Rule& rule : probe.listed(lb, id).rules) {
    EXPECT_TRUE(agrees(wished, rule.attributes));
  }
  all_succeed(probe.driver().remove_rules(probe.context(), lb, refs));
  EXPECT_TRUE(probe.keys(lb, id).empty());
}

void listener_attributes_come_back_as_asked(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  ListenerSpec spec = probe.spec(0, Protocol::http);
  spec.attributes = subject.kept(ListenerAttributes{.keep_alive = true, .max_rate = 100});
  const ListenerId id = probe.create_with_rules(lb, spec, 1);
  EXPECT_TRUE(agrees(spec.attributes, probe.listed(lb, id).attributes));
  EXPECT_TRUE(probe.change(lb, TargetChange{probe.ref(id, 0), {probe.target(1)}, {}}));
  probe.expect_change(lb, ListenerChange{id, subject.kept(ListenerAttributes{.max_rate = 50})},
                      spec.attributes);
  EXPECT_EQ(probe.targets(lb, probe.ref(id, 0)), probe.sorted({probe.target(1)}));
}

std::vector<std::string> references(const Boxed<model::Tls>& tls) {
  std::vector<std::string> out;
  if (!tls) return out;
  for (const model::Certificate& one : tls->certificates) out.push_back(one.reference);
  return out;
}

void certificates_come_back_as_asked(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::https)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerSpec spec = probe.spec(0, Protocol::https);
  const ListenerId id = probe.create_with_rules(lb, spec, 1);
  EXPECT_EQ(references(probe.listed(lb, id).attributes.tls), references(spec.attributes.tls));
  ListenerAttributes after = spec.attributes;
  after.tls = subject.certificate(1);
  const bool can = probe.driver().can_change(spec.attributes, after);
  probe.expect_change(lb, ListenerChange{id, after}, spec.attributes);
  EXPECT_EQ(references(probe.listed(lb, id).attributes.tls),
            references(can ? after.tls : spec.attributes.tls));
  EXPECT_EQ(probe.keys(lb, id), probe.keys({0}));
}

void rules_have_certificates_where_they_are_chosen_by_name(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::https)) return;
  const LoadBalancerRef lb = subject.first();
  ListenerSpec spec = probe.spec(0, Protocol::https);
  spec.attributes = subject.kept(ListenerAttributes{.by_server_name = true});
  if (!spec.attributes.by_server_name) return;
  const ListenerId id = probe.create(lb, spec);
  const auto with = [&](int n) { return RuleAttributes{.tls = subject.certificate(n)}; };
  for (const int n : {0, 1}) {
    const auto made = probe.create(lb, NewRule{probe.ref(id, n * 2), with(n)});
    EXPECT_TRUE(made) << made.error().to_string();
  }
  for (const int n : {0, 1}) {
    EXPECT_EQ(references(probe.rule(lb, probe.ref(id, n * 2)).attributes.tls),
              references(with(n).tls));
  }
  const auto without = probe.create(lb, NewRule{probe.ref(id, 4), {}});
  ASSERT_FALSE(without) << "who asks for this name is shown nothing";
  EXPECT_EQ(without.error().code, Code::invalid);
  probe.expect_change(lb, RuleChange{probe.ref(id, 0), with(1)}, with(0));
  EXPECT_EQ(references(probe.rule(lb, probe.ref(id, 2)).attributes.tls), references(with(1).tls));
}

// Clients of one domain come over QUIC or do not: its rules say the same.
void forward_types_come_back_as_asked(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::https)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0, Protocol::https));
  const RuleAttributes grpc{.to_targets = model::TargetProtocol::grpc};
  const RuleAttributes quic{.over_quic = true};
  int n = 0;
  for (const auto& [first, then] : {std::pair(grpc, quic), std::pair(quic, grpc)}) {
    const RuleAttributes asked = subject.kept(first);
    const RuleRef rule = probe.ref(id, n++);
    const auto made = probe.create(lb, NewRule{rule, asked});
    EXPECT_TRUE(made) << made.error().to_string();
    EXPECT_TRUE(agrees(asked, probe.rule(lb, rule).attributes));
    for (const RuleAttributes& wished : {subject.kept(then), RuleAttributes{}}) {
      probe.expect_change(lb, RuleChange{rule, wished}, probe.rule(lb, rule).attributes);
      EXPECT_TRUE(agrees(wished, probe.rule(lb, rule).attributes));
    }
  }
}

void https_without_a_certificate_is_invalid(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::https)) return;
  const LoadBalancerRef lb = subject.first();
  ListenerSpec spec = probe.spec(0, Protocol::https);
  spec.attributes.tls.reset();
  EXPECT_EQ(probe.refusal(lb, spec), Code::invalid);
  const ListenerId id = probe.create(lb, probe.spec(0, Protocol::https));
  (void)probe.change(lb, ListenerChange{id, {}});  // refused, or without effect on it
  EXPECT_EQ(references(probe.listed(lb, id).attributes.tls), references(subject.certificate(0)));
}

void scheduler_of_a_rule_changes_or_is_refused(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create_with_rules(lb, probe.spec(0, Protocol::http), 2);
  const RuleAttributes before = probe.rule(lb, probe.ref(id, 0)).attributes;
  RuleAttributes after = before;
  after.scheduler = model::Scheduler::least_connections;
  probe.expect_change(lb, RuleChange{probe.ref(id, 0), subject.kept(after)}, before);
  EXPECT_EQ(probe.keys(lb, id), probe.keys({0, 1}));
}

}  // namespace

std::vector<Check> rule_checks() {
  return {
      {"CreatedListenerOfLayer7HasNoRules", created_listener_of_layer_7_has_no_rules},
      {"RulesAreListedInOrder", rules_are_listed_in_order},
      {"CreatedRuleHasItsAttributes", created_rule_has_its_attributes},
      {"CreationOfRulesCanBeRepeated", creation_of_rules_can_be_repeated},
      {"CreationOfARuleThatIsThereChangesIt", creation_of_a_rule_that_is_there_changes_it},
      {"RemovedRuleIsGoneAndTheOthersStay", removed_rule_is_gone_and_the_others_stay},
      {"RuleChangesTouchNoOtherRule", rule_changes_touch_no_other_rule},
      {"TargetsOfRulesAreIndependent", targets_of_rules_are_independent},
      {"RemovedListenerTakesItsRulesAlong", removed_listener_takes_its_rules_along},
      {"RulesOfAnUnknownListenerAreNotFound", rules_of_an_unknown_listener_are_not_found},
      {"UnknownRulesAreNotFound", unknown_rules_are_not_found},
      {"KeysBelongToLayer7", keys_belong_to_layer_7},
      {"FullBatchOfRulesGoesInOneCall", full_batch_of_rules_goes_in_one_call},
      {"ListenerAttributesComeBackAsAsked", listener_attributes_come_back_as_asked},
      {"CertificatesComeBackAsAsked", certificates_come_back_as_asked},
      {"RulesHaveCertificatesWhereTheyAreChosenByName",
       rules_have_certificates_where_they_are_chosen_by_name},
      {"ForwardTypesComeBackAsAsked", forward_types_come_back_as_asked},
      {"HttpsWithoutACertificateIsInvalid", https_without_a_certificate_is_invalid},
      {"SchedulerOfARuleChangesOrIsRefused", scheduler_of_a_rule_changes_or_is_refused},
  };
}

}  // namespace berth::lb
