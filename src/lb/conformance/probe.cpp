#include "lb/conformance/probe.h"

#include <algorithm>

#include "lb/inventory.h"
#include "lb/plan.h"

namespace berth::lb {
namespace {

using model::ListenerAttributes;
using model::ListenerId;
using model::ListenerSpec;
using model::LoadBalancerRef;
using model::Protocol;
using model::RuleAttributes;
using model::RuleKey;

bool needs_certificate(Protocol protocol) {
  return protocol == Protocol::tls || protocol == Protocol::quic || protocol == Protocol::https;
}

Result<> only(std::vector<Result<>> results) {
  if (results.size() != 1) return fail(Code::internal, "{} results for one", results.size());
  return std::move(results[0]);
}

void expect_refused(const Result<>& result) {
  ASSERT_FALSE(result) << "what cannot be changed was changed";
  EXPECT_EQ(result.error().code, Code::unsupported);
}

// Domain and path apart.
std::string to_text(const RuleKey& key) { return fmt::format("{} {}", key.domain(), key.path()); }

}  // namespace

bool Probe::has(Protocol protocol) {
  return abilities().protocols.has(protocol) && subject_.speaks(protocol) &&
         (!needs_certificate(protocol) || !subject_.certificate(0).certificates.empty());
}

ListenerSpec Probe::spec(int n, Protocol protocol) {
  ListenerSpec spec = model::plain_listener(
      protocol, {port(n), port(n)}, fmt::format("conformance-{}-{}", port(n), to_string(protocol)));
  if (is_layer7(protocol)) spec.rules.clear();
  if (needs_certificate(protocol)) spec.attributes.tls = subject_.certificate(0);
  return spec;
}

RuleKey Probe::key(int n) {
  return {fmt::format("host{:02}.example.com", n / 2), n % 2 == 0 ? "/" : "/lobby"};
}

ListenerId Probe::create(const LoadBalancerRef& lb, const ListenerSpec& spec) {
  auto results = driver().create(context(), lb, {&spec, 1});
  EXPECT_EQ(results.size(), 1u);
  if (results.size() != 1) return {};
  EXPECT_TRUE(results[0]) << results[0].error().to_string();
  return results[0] ? *results[0] : ListenerId{};
}

ListenerId Probe::create_with_rules(const LoadBalancerRef& lb, const ListenerSpec& spec,
                                    int rules) {
  const ListenerId id = create(lb, spec);
  for (int i = 0; i < rules; ++i) {
    const auto result = create(lb, NewRule{ref(id, i), {}});
    EXPECT_TRUE(result) << result.error().to_string();
  }
  return id;
}

Code Probe::refusal(const LoadBalancerRef& lb, const ListenerSpec& spec) {
  const auto results = driver().create(context(), lb, {&spec, 1});
  EXPECT_EQ(results.size(), 1u);
  if (results.size() != 1) return Code::internal;
  EXPECT_FALSE(results[0]) << spec.name << " was created";
  return results[0] ? Code::internal : results[0].error().code;
}

Result<> Probe::remove(const LoadBalancerRef& lb, const ListenerId& id) {
  return only(driver().remove(context(), lb, {&id, 1}));
}

Result<> Probe::change(const LoadBalancerRef& lb, const ListenerChange& change) {
  return only(driver().change(context(), lb, {&change, 1}));
}

Result<> Probe::create(const LoadBalancerRef& lb, const NewRule& rule) {
  return only(driver().create_rules(context(), lb, {&rule, 1}));
}

Result<> Probe::remove(const LoadBalancerRef& lb, const RuleRef& rule) {
  return only(driver().remove_rules(context(), lb, {&rule, 1}));
}

Result<> Probe::change(const LoadBalancerRef& lb, const RuleChange& change) {
  return only(driver().change_rules(context(), lb, {&change, 1}));
}

Result<> Probe::change(const LoadBalancerRef& lb, const TargetChange& change) {
  for (const auto& call : cut({.targets = {{0, change}}}, abilities()).targets) {
    auto result = only(driver().change_targets(context(), lb, {&call.front().change, 1}));
    if (!result) return result;
  }
  return {};
}

void Probe::expect_change(const LoadBalancerRef& lb, const ListenerChange& change,
                          const ListenerAttributes& before) {
  const auto result = this->change(lb, change);
  if (!driver().can_change(before, change.attributes)) {
    expect_refused(result);
    EXPECT_TRUE(agrees(before, listed(lb, change.listener).attributes));
    return;
  }
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_TRUE(agrees(change.attributes, listed(lb, change.listener).attributes));
}

void Probe::expect_change(const LoadBalancerRef& lb, const RuleChange& change,
                          const RuleAttributes& before) {
  const auto result = this->change(lb, change);
  if (!driver().can_change(before, change.attributes)) {
    expect_refused(result);
    EXPECT_TRUE(agrees(before, rule(lb, change.rule).attributes));
    return;
  }
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_TRUE(agrees(change.attributes, rule(lb, change.rule).attributes));
}

std::vector<ObservedListener> Probe::look_up(const LoadBalancerRef& lb,
                                             const std::vector<Question>& questions) {
  auto found = driver().look_up(context(), lb, questions);
  EXPECT_TRUE(found) << found.error().to_string();
  return found ? std::move(*found) : std::vector<ObservedListener>{};
}

void Probe::cut_off(const std::function<bool(int)>& act, const std::function<void(int)>& look) {
  constexpr int kMostWrites = 12;  // no driver needs so many for one thing
  for (int n = 0;; ++n) {
    SCOPED_TRACE(fmt::format("cut off after {} writes", n));
    ASSERT_LE(n, kMostWrites) << "it never goes through";
    ASSERT_TRUE(subject_.break_off(n)) << "the subject must be able to end a driver's process";
    const bool is_through = act(n);
    ASSERT_TRUE(subject_.break_off(-1));
    look(n);
    if (is_through) return;
  }
}

std::vector<ObservedListener> Probe::named(const LoadBalancerRef& lb, std::string_view name) {
  std::vector<ObservedListener> out = list(lb);
  std::erase_if(out, [&](const ObservedListener& one) { return one.spec.name != name; });
  return out;
}

std::vector<ObservedListener> Probe::half_made(const LoadBalancerRef& lb, std::string_view name) {
  std::vector<ObservedListener> out = named(lb, name);
  std::erase_if(out, [](const ObservedListener& one) { return !one.half_made; });
  return out;
}

std::vector<ObservedListener> Probe::list(const LoadBalancerRef& lb) {
  auto listed = driver().list(context(), lb);
  EXPECT_TRUE(listed) << listed.error().to_string();
  return listed ? std::move(*listed) : std::vector<ObservedListener>{};
}

std::optional<ObservedListener> Probe::find(const LoadBalancerRef& lb, const ListenerId& id) {
  for (ObservedListener& listener : list(lb)) {
    if (listener.id == id) return std::move(listener);
  }
  return std::nullopt;
}

ListenerSpec Probe::listed(const LoadBalancerRef& lb, const ListenerId& id) {
  auto listener = find(lb, id);
  EXPECT_TRUE(listener) << "listener " << id << " is not listed";
  return listener ? std::move(listener->spec) : ListenerSpec{};
}

std::vector<std::string> Probe::keys(const LoadBalancerRef& lb, const ListenerId& id) {
  const ListenerSpec spec = listed(lb, id);
  std::vector<std::string> out;
  for (const model::Rule& rule : spec.rules) out.push_back(to_text(rule.key));
  return out;
}

std::vector<std::string> Probe::keys(std::initializer_list<int> wanted) {
  std::vector<std::string> out;
  for (const int n : wanted) out.push_back(to_text(key(n)));
  return out;
}

model::Rule Probe::rule(const LoadBalancerRef& lb, const RuleRef& ref) {
  const ListenerSpec spec = listed(lb, ref.listener);
  const model::Rule* rule = find_rule(spec, ref.key);
  EXPECT_TRUE(rule) << "listener " << ref.listener << " has no rule '" << to_string(ref.key) << "'";
  return rule ? *rule : model::Rule{};
}

std::vector<std::string> Probe::sorted(const std::vector<model::WeightedTarget>& targets) {
  std::vector<std::string> out;
  for (const model::WeightedTarget& target : targets) {
    out.push_back(subject_.has_weights()
                      ? fmt::format("{} weight {}", to_string(target.target), target.weight)
                      : to_string(target.target));
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace berth::lb
