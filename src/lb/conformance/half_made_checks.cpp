// Checks of what is half made, because a process died between two of its writes.
#include <algorithm>

#include "lb/conformance/probe.h"

namespace berth::lb {
namespace {

using model::ListenerId;
using model::ListenerSpec;
using model::LoadBalancerRef;
using model::Protocol;

bool create(Probe& probe, const LoadBalancerRef& lb, const ListenerSpec& spec) {
  return probe.driver().create(probe.context(), lb, {&spec, 1}).at(0).has_value();
}

// Of every protocol that is made in another way.
std::vector<Protocol> layers(Probe& probe) {
  std::vector<Protocol> out{Protocol::tcp};
  if (probe.has(Protocol::http)) out.push_back(Protocol::http);
  return out;
}

// Whole, once, and nothing beside it.
void expect_whole(Probe& probe, const LoadBalancerRef& lb, const ListenerSpec& spec) {
  const auto there = probe.named(lb, spec.name);
  ASSERT_EQ(there.size(), 1u) << spec.name;
  EXPECT_FALSE(there[0].half_made);
  EXPECT_EQ(there[0].spec.protocol, spec.protocol);
  EXPECT_EQ(there[0].spec.ports, spec.ports);
}

void remove_all_named(Probe& probe, const LoadBalancerRef& lb, std::string_view name) {
  for (const ObservedListener& one : probe.named(lb, name)) {
    const auto removed = probe.remove(lb, one.id);
    EXPECT_TRUE(removed) << removed.error().to_string();
  }
  EXPECT_TRUE(probe.named(lb, name).empty());
}

// Each creation is cut off where it can be; then `look` finds what there is of it.
void with_halves(Probe& probe, const LoadBalancerRef& lb,
                 const std::function<void(const ListenerSpec&, const ObservedListener&)>& look) {
  int seen = 0;
  for (const Protocol protocol : layers(probe)) {
    probe.cut_off([&](int n) { return create(probe, lb, probe.spec(n, protocol)); },
                  [&](int n) {
                    const ListenerSpec spec = probe.spec(n, protocol);
                    for (const ObservedListener& half : probe.half_made(lb, spec.name)) {
                      ++seen;
                      look(spec, half);
                    }
                    remove_all_named(probe, lb, spec.name);
                  });
  }
  EXPECT_GT(seen, 0) << "nothing was half made, wherever it was cut off";
}

void half_made_listener_is_shown_as_such(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  with_halves(probe, lb, [&](const ListenerSpec& spec, const ObservedListener& half) {
    EXPECT_FALSE(half.id.empty());
    EXPECT_FALSE(model::leads_somewhere(half.spec));
    for (const Question& question : {Question{.id = half.id}, Question{.name = spec.name}}) {
      const auto found = probe.look_up(lb, {question});
      ASSERT_EQ(std::ranges::count(found, half.id, &ObservedListener::id), 1);
      EXPECT_TRUE(std::ranges::find(found, half.id, &ObservedListener::id)->half_made);
    }
  });
}

void half_made_listener_takes_no_port(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  with_halves(probe, lb, [&](const ListenerSpec& spec, const ObservedListener& half) {
    ListenerSpec other = spec;
    other.name = "conformance-other";
    const ListenerId id = probe.create(lb, other);
    EXPECT_TRUE(probe.find(lb, half.id)) << "another's creation took it away";
    EXPECT_TRUE(probe.remove(lb, id));
    EXPECT_EQ(probe.half_made(lb, spec.name).size(), 1u);
  });
}

void creation_finishes_what_is_half_made(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  with_halves(probe, lb, [&](const ListenerSpec& spec, const ObservedListener&) {
    const ListenerId id = probe.create(lb, spec);
    expect_whole(probe, lb, spec);
    if (is_layer7(spec.protocol)) return;
    EXPECT_TRUE(probe.change(lb, TargetChange{{id}, {probe.target(1)}, {}}));
    EXPECT_EQ(probe.targets(lb, {id}), probe.sorted({probe.target(1)}));
  });
}

// Who planned to remove it did not know that it was finished meanwhile.
void finished_listener_outlives_the_id_of_its_half(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  with_halves(probe, lb, [&](const ListenerSpec& spec, const ObservedListener& half) {
    const ListenerId id = probe.create(lb, spec);
    if (id == half.id) return;  // it is the listener's by now
    const auto removed = probe.remove(lb, half.id);
    EXPECT_TRUE(removed) << removed.error().to_string();
    expect_whole(probe, lb, spec);
    EXPECT_TRUE(probe.find(lb, id));
  });
}

void what_does_not_fit_is_replaced(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  with_halves(probe, lb, [&](const ListenerSpec& spec, const ObservedListener&) {
    ListenerSpec other = probe.spec(20, probe.has(Protocol::udp) ? Protocol::udp : spec.protocol);
    other.name = spec.name;
    (void)probe.create(lb, other);
    expect_whole(probe, lb, other);
  });
}

void half_made_listener_is_removed_by_its_id(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId bystander = probe.create(lb, probe.spec(30));
  with_halves(probe, lb, [&](const ListenerSpec& spec, const ObservedListener& half) {
    for (int i = 0; i < 2; ++i) {
      const auto removed = probe.remove(lb, half.id);
      EXPECT_TRUE(removed) << removed.error().to_string();
      EXPECT_TRUE(probe.named(lb, spec.name).empty());
    }
    EXPECT_TRUE(probe.find(lb, bystander));
  });
}

// Whoever looks after it sees all that is left, and can remove it.
void removal_that_was_cut_off_can_be_finished(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  int seen = 0;
  for (const Protocol protocol : layers(probe)) {
    const ListenerSpec spec = probe.spec(0, protocol);
    const auto create_whole = [&] {
      return is_layer7(protocol) ? probe.create_with_rules(lb, spec, 2) : probe.create(lb, spec);
    };
    ListenerId id = create_whole();
    probe.cut_off([&](int) { return probe.remove(lb, id).has_value(); },
                  [&](int) {
                    seen += static_cast<int>(probe.half_made(lb, spec.name).size());
                    remove_all_named(probe, lb, spec.name);
                    id = create_whole();
                  });
    remove_all_named(probe, lb, spec.name);
  }
  EXPECT_GT(seen, 0) << "nothing was half made, wherever it was cut off";
}

// Of rules: begun on a listener that has another.
void with_half_rules(Probe& probe, const LoadBalancerRef& lb,
                     const std::function<void(const RuleRef&, const ObservedListener&)>& look) {
  const ListenerId id = probe.create_with_rules(lb, probe.spec(0, Protocol::http), 1);
  const std::string name = probe.spec(0, Protocol::http).name;
  int seen = 0;
  probe.cut_off(
      [&](int n) { return probe.create(lb, NewRule{probe.ref(id, n + 1), {}}).has_value(); },
      [&](int n) {
        const RuleRef rule = probe.ref(id, n + 1);
        for (const ObservedListener& half : probe.half_made(lb, name)) {
          ++seen;
          ASSERT_EQ(half.spec.rules.size(), 1u);
          EXPECT_EQ(half.spec.rules[0].key, rule.key);
          look(rule, half);
        }
        for (const ObservedListener& half : probe.half_made(lb, name))
          EXPECT_TRUE(probe.remove(lb, half.id));
        EXPECT_TRUE(probe.remove(lb, rule));
        EXPECT_EQ(probe.keys(lb, id), probe.keys({0})) << "the listener has kept its other rule";
      });
  EXPECT_GT(seen, 0) << "nothing was half made, wherever it was cut off";
}

void creation_finishes_a_rule_that_is_half_made(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  with_half_rules(probe, lb, [&](const RuleRef& rule, const ObservedListener& half) {
    const auto made = probe.create(lb, NewRule{rule, {}});
    EXPECT_TRUE(made) << made.error().to_string();
    EXPECT_TRUE(probe.half_made(lb, half.spec.name).empty());
    EXPECT_TRUE(probe.change(lb, TargetChange{rule, {probe.target(1)}, {}}));
    EXPECT_TRUE(probe.remove(lb, half.id));
    EXPECT_EQ(probe.targets(lb, rule), probe.sorted({probe.target(1)}));
  });
}

void half_made_rule_is_removed_by_its_id(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  with_half_rules(probe, lb, [&](const RuleRef&, const ObservedListener& half) {
    EXPECT_TRUE(probe.remove(lb, half.id));
    EXPECT_TRUE(probe.half_made(lb, half.spec.name).empty());
  });
}

void removal_of_a_rule_that_was_cut_off_can_be_finished(Subject& subject) {
  Probe probe(subject);
  if (!probe.has(Protocol::http)) return;
  const LoadBalancerRef lb = subject.first();
  const ListenerSpec spec = probe.spec(0, Protocol::http);
  const ListenerId id = probe.create_with_rules(lb, spec, 2);
  const RuleRef rule = probe.ref(id, 1);
  int seen = 0;
  probe.cut_off([&](int) { return probe.remove(lb, rule).has_value(); },
                [&](int) {
                  for (const ObservedListener& half : probe.half_made(lb, spec.name)) {
                    ++seen;
                    EXPECT_TRUE(probe.remove(lb, half.id));
                  }
                  EXPECT_TRUE(probe.remove(lb, rule));
                  EXPECT_EQ(probe.keys(lb, id), probe.keys({0}));
                  EXPECT_TRUE(probe.half_made(lb, spec.name).empty());
                  EXPECT_TRUE(probe.create(lb, NewRule{rule, {}}));
                });
  EXPECT_GT(seen, 0) << "nothing was half made, wherever it was cut off";
}

void nothing_is_half_made(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  (void)probe.create(lb, probe.spec(0));
  for (int n = 0; n < 4 && subject.break_off(n); ++n) {
    (void)create(probe, lb, probe.spec(n + 1));
    (void)subject.break_off(-1);
  }
  for (const ObservedListener& one : probe.list(lb))
    EXPECT_FALSE(one.half_made) << "ask for the checks of what is half made";
}

}  // namespace

std::vector<Check> half_made_checks() {
  return {
      {"HalfMadeListenerIsShownAsSuch", half_made_listener_is_shown_as_such},
      {"HalfMadeListenerTakesNoPort", half_made_listener_takes_no_port},
      {"CreationFinishesWhatIsHalfMade", creation_finishes_what_is_half_made},
      {"FinishedListenerOutlivesTheIdOfItsHalf", finished_listener_outlives_the_id_of_its_half},
      {"WhatDoesNotFitIsReplaced", what_does_not_fit_is_replaced},
      {"HalfMadeListenerIsRemovedByItsId", half_made_listener_is_removed_by_its_id},
      {"RemovalThatWasCutOffCanBeFinished", removal_that_was_cut_off_can_be_finished},
      {"CreationFinishesARuleThatIsHalfMade", creation_finishes_a_rule_that_is_half_made},
      {"HalfMadeRuleIsRemovedByItsId", half_made_rule_is_removed_by_its_id},
      {"RemovalOfARuleThatWasCutOffCanBeFinished",
       removal_of_a_rule_that_was_cut_off_can_be_finished},
  };
}

std::vector<Check> checks_without_half_made() {
  return {{"NothingIsHalfMade", nothing_is_half_made}};
}

}  // namespace berth::lb
