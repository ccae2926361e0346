#include "cloud/tencent/driver.h"

#include <algorithm>

#include "cloud/tencent/health.h"
#include "cloud/tencent/line.h"
#include "cloud/tencent/listener_writes.h"
#include "cloud/tencent/rule_writes.h"
#include "cloud/tencent/target_writes.h"
#include "lb/questions.h"

namespace berth::cloud::tencent {
namespace {

using lb::Action;
using lb::ObservedListener;
using lb::Place;
using lb::Question;
using model::ListenerId;

// The call of the API that an action is made of, most of all.
std::string_view call_of(Action action) {
  switch (action) {
    case Action::list_listeners:
    case Action::look_up_listeners: return "DescribeListeners";
    case Action::create_listeners: return "CreateListener";
    case Action::remove_listeners: return "DeleteLoadBalancerListeners";
    case Action::change_listeners: return "ModifyListener";
    case Action::create_rules: return "CreateRule";
    case Action::remove_rules: return "DeleteRule";
    case Action::change_rules: return "ModifyRule";
    case Action::change_targets: break;
  }
  return "BatchRegisterTargets";
}

// As often as people know it from bcs-ingress-controller. A call for each load balancer, of 20 a
// second.
constexpr Duration kHealthPeriod = std::chrono::seconds{30};

bool asks_by_id_alone(const Question& question) {
  return question.name.empty() && question.ports.first == 0;
}

}  // namespace

const model::Abilities& ClbListeners::abilities() const {
  return model::traits_of(model::Provider::tencent).abilities;
}

bool ClbListeners::can_change(const model::ListenerAttributes& there,
                              const model::ListenerAttributes& wished) const {
  return can_change_listener(there, wished);
}

Instant ClbListeners::free_at(const Place& place, Action action, std::size_t calls,
                              Instant now) const {
  return api_.free_at(caller_of(api_, place), call_of(action), calls, now);
}

Result<std::vector<ObservedListener>> ClbListeners::list(const Context& context,
                                                         const Place& place) {
  const Line line{context, place, api_, book_};
  auto listeners = sight_.of(place, [&] { return describe_all(line); });
  if (!listeners) return pass(listeners);
  book_.forget(place.lb);
  return with_targets(line, std::move(*listeners));
}

// The API finds listeners by id and by their first port. Ranges that a port lies in, and names, are
// found among all; even so only the targets of those that answer are read.
Result<std::vector<ObservedListener>> ClbListeners::look_up(const Context& context,
                                                            const Place& place,
                                                            std::span<const Question> questions) {
  if (questions.empty()) return std::vector<ObservedListener>{};
  const Line line{context, place, api_, book_};
  std::vector<ListenerId> ids;
  for (const Question& question : questions)
    if (!question.id.empty()) ids.push_back(question.id);
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  const bool by_id = std::ranges::all_of(questions, asks_by_id_alone);
  auto listeners =
      sight_.of(place, [&] { return by_id ? describe_some(line, ids) : describe_all(line); });
  if (!listeners) return pass(listeners);
  std::erase_if(*listeners, [&](const CloudListener& one) {
    return std::ranges::none_of(
        questions, [&](const Question& question) { return lb::answers(one.seen, question); });
  });
  return with_targets(line, std::move(*listeners));
}

std::vector<Result<ListenerId>> ClbListeners::create(const Context& context, const Place& place,
                                                     std::span<const model::ListenerSpec> wanted) {
  return create_listeners({context, place, api_, book_}, wanted);
}

std::vector<Result<>> ClbListeners::remove(const Context& context, const Place& place,
                                           std::span<const ListenerId> ids) {
  return remove_listeners({context, place, api_, book_}, ids);
}

std::vector<Result<>> ClbListeners::change(const Context& context, const Place& place,
                                           std::span<const lb::ListenerChange> changes) {
  return change_listeners({context, place, api_, book_}, changes);
}

std::vector<Result<>> ClbListeners::create_rules(const Context& context, const Place& place,
                                                 std::span<const lb::NewRule> wanted) {
  return tencent::create_rules({context, place, api_, book_}, wanted);
}

std::vector<Result<>> ClbListeners::remove_rules(const Context& context, const Place& place,
                                                 std::span<const lb::RuleRef> rules) {
  return tencent::remove_rules({context, place, api_, book_}, rules);
}

std::vector<Result<>> ClbListeners::change_rules(const Context& context, const Place& place,
                                                 std::span<const lb::RuleChange> changes) {
  return tencent::change_rules({context, place, api_, book_}, changes);
}

std::vector<Result<>> ClbListeners::change_targets(const Context& context, const Place& place,
                                                   std::span<const lb::TargetChange> changes) {
  auto results = tencent::change_targets({context, place, api_, book_}, changes);
  for (const lb::TargetChange& change : changes) on_targets_(place.lb, change.rule);
  return results;
}

ClbDriver::ClbDriver(Tasks& tasks, net::Transport& transport, CredentialSource& credentials,
                     Options options, OnSent on_sent)
    : api_(transport, credentials, std::move(options), std::move(on_sent)),
      health_(tasks, ask_health(api_), {.everything = kHealthPeriod}),
      listeners_(api_, [this](const model::LoadBalancerRef& lb,
                              const lb::RuleRef& rule) { health_.hurry(lb, rule); }),
      directory_(api_) {}

}  // namespace berth::cloud::tencent
