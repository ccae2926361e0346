// A subject of the conformance suite with short ways to say what its checks say often. Inside the
// folder only.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lb/conformance/conformance.h"

namespace berth::lb {

class Probe {
 public:
  explicit Probe(Subject& subject) : subject_(subject) {}

  Listeners& driver() { return *subject_.driver().listeners; }
  Directory& directory() { return *subject_.driver().directory; }
  Maker& maker() { return *subject_.driver().maker; }
  Context context() { return subject_.context(); }
  const model::Abilities& abilities() { return driver().abilities(); }
  model::Port port(int n) { return static_cast<model::Port>(subject_.first_port() + n); }
  // It is spoken, and the subject has the certificate that it needs.
  bool has(model::Protocol protocol);

  // Of layer 7 without rules. With a certificate where the protocol needs one.
  model::ListenerSpec spec(int n, model::Protocol protocol = model::Protocol::tcp);
  // Different for different n below 100, and in their order.
  model::RuleKey key(int n);
  RuleRef ref(const model::ListenerId& listener, int n) { return {listener, key(n)}; }
  model::WeightedTarget target(int n, std::uint32_t weight = model::kDefaultWeight) {
    return {subject_.target(n), weight};
  }

  std::vector<Result<model::ListenerId>> create(const model::LoadBalancerRef& lb,
                                                const std::vector<model::ListenerSpec>& specs) {
    return driver().create(context(), lb, specs);
  }
  // The id; empty after a failure, which is gtest's.
  model::ListenerId create(const model::LoadBalancerRef& lb, const model::ListenerSpec& spec);
  // Of layer 7, with the first `rules` keys.
  model::ListenerId create_with_rules(const model::LoadBalancerRef& lb,
                                      const model::ListenerSpec& spec, int rules);
  // What a creation must not do: the code that it failed with.
  Code refusal(const model::LoadBalancerRef& lb, const model::ListenerSpec& spec);

  Result<> remove(const model::LoadBalancerRef& lb, const model::ListenerId& id);
  Result<> change(const model::LoadBalancerRef& lb, const ListenerChange& change);
  Result<> create(const model::LoadBalancerRef& lb, const NewRule& rule);
  Result<> remove(const model::LoadBalancerRef& lb, const RuleRef& rule);
  Result<> change(const model::LoadBalancerRef& lb, const RuleChange& change);
  // In several calls where one does not take so much.
  Result<> change(const model::LoadBalancerRef& lb, const TargetChange& change);

  // The change does what `can_change` says: it is made, or it is `unsupported` and nothing changes.
  void expect_change(const model::LoadBalancerRef& lb, const ListenerChange& change,
                     const model::ListenerAttributes& before);
  void expect_change(const model::LoadBalancerRef& lb, const RuleChange& change,
                     const model::RuleAttributes& before);

  std::vector<ObservedListener> look_up(const model::LoadBalancerRef& lb,
                                        const std::vector<Question>& questions);
  // Runs `act` again and again, its process ended after no write, after one, and so on, until it
  // goes through; `n` counts. After each of them `look` is called.
  void cut_off(const std::function<bool(int n)>& act, const std::function<void(int n)>& look);
  // What is listed under the name. Of these, what is half made.
  std::vector<ObservedListener> named(const model::LoadBalancerRef& lb, std::string_view name);
  std::vector<ObservedListener> half_made(const model::LoadBalancerRef& lb, std::string_view name);

  // What is listed now. What is not there is a failure of gtest's, but for `find`.
  std::vector<ObservedListener> list(const model::LoadBalancerRef& lb);
  std::optional<ObservedListener> find(const model::LoadBalancerRef& lb,
                                       const model::ListenerId& id);
  model::ListenerSpec listed(const model::LoadBalancerRef& lb, const model::ListenerId& id);
  // "example.com /lobby", in the order of the list.
  std::vector<std::string> keys(const model::LoadBalancerRef& lb, const model::ListenerId& id);
  std::vector<std::string> keys(std::initializer_list<int> wanted);
  model::Rule rule(const model::LoadBalancerRef& lb, const RuleRef& ref);
  std::vector<std::string> targets(const model::LoadBalancerRef& lb, const RuleRef& ref) {
    return sorted(rule(lb, ref).targets);
  }
  // As text, for failures that can be read.
  std::vector<std::string> sorted(const std::vector<model::WeightedTarget>& targets);

 private:
  Subject& subject_;
};

// The parts of the suite.
std::vector<Check> listener_checks();
std::vector<Check> target_checks();
std::vector<Check> rule_checks();
std::vector<Check> question_checks();
std::vector<Check> directory_checks();
std::vector<Check> half_made_checks();
std::vector<Check> checks_without_half_made();
std::vector<Check> maker_checks();
std::vector<Check> checks_without_maker();

}  // namespace berth::lb
