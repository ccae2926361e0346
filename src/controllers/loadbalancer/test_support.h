// A provider's directory whose answers a test decides, and the time in which it is asked.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "lb/driver.h"
#include "sim/kernel/kernel.h"
#include "sim/kernel/run_for.h"

namespace berth::controllers::loadbalancer {

class FakeDirectory final : public lb::Directory {
 public:
  explicit FakeDirectory(Tasks& tasks) : tasks_(tasks) {}

  std::vector<Result<model::LoadBalancerInfo>> describe(
      const Context& context, const model::CredentialId& credential,
      std::span<const model::LoadBalancerRef> lbs) override {
    described.emplace_back(lbs.begin(), lbs.end());
    described_with.push_back(credential);
    (void)sleep_for(tasks_, takes, context.stop);
    std::vector<Result<model::LoadBalancerInfo>> out;
    for (const model::LoadBalancerRef& lb : lbs) {
      const auto it = names.find(lb);
      if (it == names.end() || !is_shown(lb, credential)) {
        out.emplace_back(fail(Code::not_found, "load balancer {} does not exist", lb.id));
      } else {
        out.emplace_back(model::LoadBalancerInfo{.name = it->second});
      }
    }
    return out;
  }
  // All that begin so, as some clouds do.
  Result<std::vector<lb::FoundLoadBalancer>> search(const Context& context,
                                                    const model::CredentialId& credential,
                                                    const lb::DirectoryQuery& query) override {
    ++searches;
    (void)sleep_for(tasks_, takes, context.stop);
    if (away) return fail(Code::unavailable, "no route");
    std::vector<lb::FoundLoadBalancer> out;
    for (const auto& [lb, name] : names)
      if (name.starts_with(query.name) && (query.region.empty() || query.region == lb.region) &&
          is_shown(lb, credential))
        out.push_back({.ref = lb, .info = {.name = name}});
    return out;
  }

  std::map<model::LoadBalancerRef, std::string> names;
  std::map<model::LoadBalancerRef, model::CredentialId> whose;  // nobody else is shown them
  std::vector<std::vector<model::LoadBalancerRef>> described;   // call by call
  std::vector<model::CredentialId> described_with;
  int searches = 0;
  bool away = false;
  Duration takes = std::chrono::milliseconds{50};

 private:
  bool is_shown(const model::LoadBalancerRef& lb, const model::CredentialId& credential) const {
    const auto it = whose.find(lb);
    return it == whose.end() || it->second == credential;
  }

  Tasks& tasks_;
};

class DirectoryTest : public ::testing::Test {
 protected:
  static model::LoadBalancerRef lb(const std::string& id) {
    return {model::Provider::tencent, "ap-x", id};
  }
  void pass(Duration span) { ASSERT_TRUE(sim::run_for(kernel_, span)); }

  sim::Kernel kernel_{1};
  sim::Process& tasks_ = kernel_.start_process("test");
  FakeDirectory directory_{tasks_};
  FakeDirectory other_{tasks_};
  const lb::Drivers drivers_{{model::Provider::tencent, {.directory = &directory_}},
                             {model::Provider::aws, {.directory = &other_}}};
};

}  // namespace berth::controllers::loadbalancer
