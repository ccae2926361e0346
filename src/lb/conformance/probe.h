// A subject of the conformance suite with short ways to say what its checks say often. Inside the
// folder only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lb/conformance/conformance.h"
#include "lb/plan.h"

namespace berth::lb {

class Probe {
 public:
  explicit Probe(Subject& subject) : subject_(subject) {}

  Driver& driver() { return subject_.driver(); }
  Context context() { return subject_.context(); }
  const model::Abilities& abilities() { return driver().abilities(); }
  model::Port port(int n) { return static_cast<model::Port>(subject_.first_port() + n); }

  model::ListenerSpec spec(int n, model::Transport protocol = model::Transport::tcp) {
    return {.protocol = protocol,
            .ports = {port(n), port(n)},
            .name = fmt::format("conformance-{}-{}", port(n),
                                protocol == model::Transport::tcp ? "t" : "u")};
  }

  std::vector<Result<std::string>> create(const model::LoadBalancerRef& lb,
                                          const std::vector<model::ListenerSpec>& specs) {
    return driver().create(context(), lb, specs);
  }
  // The id; empty after a failure, which is gtest's.
  std::string create(const model::LoadBalancerRef& lb, const model::ListenerSpec& spec) {
    auto results = driver().create(context(), lb, {&spec, 1});
    EXPECT_EQ(results.size(), 1u);
    if (results.size() != 1) return {};
    EXPECT_TRUE(results[0]) << results[0].error().to_string();
    return results[0] ? *results[0] : std::string{};
  }
  Result<> remove(const model::LoadBalancerRef& lb, const std::string& id) {
    auto results = driver().remove(context(), lb, {&id, 1});
    if (results.size() != 1) return fail(Code::internal, "{} results for one id", results.size());
    return std::move(results[0]);
  }
  // In several calls where one does not take so much.
  Result<> change(const model::LoadBalancerRef& lb, const TargetChange& change) {
    for (const auto& call : cut({.targets = {{0, change}}}, abilities()).targets) {
      auto results = driver().change_targets(context(), lb, {&call.front().change, 1});
      if (results.size() != 1) return fail(Code::internal, "{} results for one", results.size());
      if (!results[0]) return std::move(results[0]);
    }
    return {};
  }
  Result<> change(const model::LoadBalancerRef& lb, const AttributeChange& change) {
    auto results = driver().change_attributes(context(), lb, {&change, 1});
    if (results.size() != 1) return fail(Code::internal, "{} results for one", results.size());
    return std::move(results[0]);
  }
  std::vector<ObservedListener> list(const model::LoadBalancerRef& lb) {
    auto listed = driver().list(context(), lb);
    EXPECT_TRUE(listed) << listed.error().to_string();
    return listed ? std::move(*listed) : std::vector<ObservedListener>{};
  }
  std::optional<ObservedListener> find(const model::LoadBalancerRef& lb, const std::string& id) {
    for (ObservedListener& listener : list(lb)) {
      if (listener.id == id) return std::move(listener);
    }
    return std::nullopt;
  }
  std::vector<std::string> targets(const model::LoadBalancerRef& lb, const std::string& id) {
    const auto listener = find(lb, id);
    EXPECT_TRUE(listener) << "listener " << id << " is not listed";
    return listener ? sorted(listener->spec.targets) : std::vector<std::string>{};
  }
  model::WeightedTarget target(int n, std::uint32_t weight = model::kDefaultWeight) {
    return {subject_.target(n), weight};
  }
  // As text, for failures that can be read.
  std::vector<std::string> sorted(const std::vector<model::WeightedTarget>& targets) {
    std::vector<std::string> out;
    for (const model::WeightedTarget& target : targets) {
      out.push_back(subject_.has_weights()
                        ? fmt::format("{} weight {}", to_string(target.target), target.weight)
                        : to_string(target.target));
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  Subject& subject_;
};

// The two parts of the suite.
std::vector<Check> listener_checks();
std::vector<Check> target_checks();

}  // namespace berth::lb
