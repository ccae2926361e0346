// Checks of questions about a few listeners. More than what was asked for may be answered, less may
// not.
#include <algorithm>

#include "lb/conformance/probe.h"
#include "lb/questions.h"

namespace berth::lb {
namespace {

using model::ListenerId;
using model::ListenerSpec;
using model::LoadBalancerRef;
using model::Protocol;

const ObservedListener* find(const std::vector<ObservedListener>& found, const ListenerId& id) {
  const auto it = std::ranges::find(found, id, &ObservedListener::id);
  return it == found.end() ? nullptr : &*it;
}

void question_by_id_is_answered_as_listed(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0));
  (void)probe.create(lb, probe.spec(1));
  EXPECT_TRUE(probe.change(lb, TargetChange{{id}, {probe.target(1)}, {}}));
  const auto found = probe.look_up(lb, {{.id = id}});
  const ObservedListener* listener = find(found, id);
  ASSERT_NE(listener, nullptr);
  EXPECT_EQ(listener->spec, probe.listed(lb, id));
  EXPECT_FALSE(listener->half_made);
}

void question_by_name_is_answered(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId id = probe.create(lb, probe.spec(0));
  EXPECT_NE(find(probe.look_up(lb, {{.name = probe.spec(0).name}}), id), nullptr)
      << "a creation whose reply was lost could not be found again";
}

// Whoever has the port is in the way, whatever it is called and whatever it speaks.
void question_by_ports_is_answered_whatever_is_spoken(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  std::vector<ListenerId> ids;
  for (const Protocol protocol : {Protocol::tcp, Protocol::udp, Protocol::http}) {
    if (!probe.has(protocol)) continue;
    ids.push_back(probe.create(lb, probe.spec(static_cast<int>(ids.size()), protocol)));
  }
  const model::PortRange all{probe.port(0), probe.port(static_cast<int>(ids.size()) - 1)};
  const auto found = probe.look_up(lb, {{.ports = all}});
  for (const ListenerId& id : ids) EXPECT_NE(find(found, id), nullptr) << id;
  const model::PortRange last{all.last, all.last};
  EXPECT_NE(find(probe.look_up(lb, {{.ports = last}}), ids.back()), nullptr);
}

void questions_inside_a_range_find_it(Subject& subject) {
  Probe probe(subject);
  if (!probe.abilities().has_ranges) return;
  const LoadBalancerRef lb = subject.first();
  ListenerSpec range = probe.spec(10);
  range.ports = {probe.port(10), probe.port(19)};
  const ListenerId id = probe.create(lb, range);
  const model::PortRange inside{probe.port(15), probe.port(15)};
  EXPECT_NE(find(probe.look_up(lb, {{.ports = inside}}), id), nullptr);
}

void every_question_is_answered(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  std::vector<ListenerId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(probe.create(lb, probe.spec(i)));
  const model::PortRange third{probe.port(2), probe.port(2)};
  const auto found = probe.look_up(lb, {{.id = ids[0]},
                                        {.name = "conformance-nobody"},
                                        {.name = probe.spec(1).name},
                                        {.id = ids[0], .name = probe.spec(0).name},
                                        {.ports = third}});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(std::ranges::count(found, ids[static_cast<std::size_t>(i)], &ObservedListener::id), 1)
        << "number " << i;
  }
}

void questions_about_nobody_are_answered_by_nothing(Subject& subject) {
  Probe probe(subject);
  const LoadBalancerRef lb = subject.first();
  const ListenerId gone = probe.create(lb, probe.spec(0));
  (void)probe.create(subject.second(), probe.spec(1));
  EXPECT_TRUE(probe.remove(lb, gone));
  EXPECT_TRUE(probe.look_up(lb, {}).empty());
  const model::PortRange ports{probe.port(0), probe.port(5)};
  const std::vector<Question> questions{
      {.id = gone}, {.name = probe.spec(0).name}, {.ports = ports}};
  EXPECT_TRUE(probe.look_up(lb, questions).empty()) << "there is no listener at all";
}

void questions_to_an_unknown_load_balancer_are_not_found(Subject& subject) {
  const auto unknown = subject.unknown();
  if (!unknown) return;
  Probe probe(subject);
  const std::vector<Question> questions{{.name = "conformance-nobody"}};
  const auto found = probe.driver().look_up(probe.context(), *unknown, questions);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::not_found);
}

}  // namespace

std::vector<Check> question_checks() {
  return {
      {"QuestionByIdIsAnsweredAsListed", question_by_id_is_answered_as_listed},
      {"QuestionByNameIsAnswered", question_by_name_is_answered},
      {"QuestionByPortsIsAnsweredWhateverIsSpoken",
       question_by_ports_is_answered_whatever_is_spoken},
      {"QuestionsInsideARangeFindIt", questions_inside_a_range_find_it},
      {"EveryQuestionIsAnswered", every_question_is_answered},
      {"QuestionsAboutNobodyAreAnsweredByNothing", questions_about_nobody_are_answered_by_nothing},
      {"QuestionsToAnUnknownLoadBalancerAreNotFound",
       questions_to_an_unknown_load_balancer_are_not_found},
  };
}

}  // namespace berth::lb
