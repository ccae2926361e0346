// Describer: asks providers about load balancers, all that are due in one call. Reconciles never
// wait for it: who finds no answer is told to come again when it is there.
//
// Each provider has a task of its own, so that one that hangs hides no other. Runs on the leader;
// thread-safe; owned by the controller of LoadBalancers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/context.h"
#include "base/mutex.h"
#include "lb/driver.h"

namespace berth::controllers::loadbalancer {

class Describer {
 public:
  // Hears of each answer, without a lock held.
  using OnAnswer = std::function<void(const model::LoadBalancerRef& lb)>;
  Describer(Tasks& tasks, const lb::Drivers& drivers, OnAnswer on_answer);

  // The answer that came since it was last taken. Nothing: it is asked for now.
  std::optional<Result<model::LoadBalancerInfo>> take(const model::LoadBalancerRef& lb);

  // Until the stop.
  void run(const Context& context);

 private:
  using Refs = std::vector<model::LoadBalancerRef>;
  // What one provider is asked.
  struct Queue {
    lb::Directory* directory = nullptr;
    std::unique_ptr<Signal> asked{};
    std::set<model::LoadBalancerRef> due{};
  };
  struct Answer {
    Result<model::LoadBalancerInfo> info;
    Instant at{};
  };

  void serve(const Context& context, model::Provider provider);
  Refs due_at(model::Provider provider);
  void describe(const Context& context, lb::Directory& directory, const Refs& lbs);

  Tasks& tasks_;
  const OnAnswer on_answer_;
  mutable Mutex mu_;
  std::map<model::Provider, Queue> queues_ GUARDED_BY(mu_);  // none come or go
  std::map<model::LoadBalancerRef, Answer> answers_ GUARDED_BY(mu_);
};

}  // namespace berth::controllers::loadbalancer
