// Describer: asks providers about load balancers, all that are due in one call. Reconciles never
// wait for it: who finds no answer is told to come again when it is there.
//
// Where several have ports on a load balancer, each with credentials of its own, it is asked for
// with one after the other until one of them shows it.
//
// Each provider has a task of its own, so that one that hangs hides no other. Runs on the leader;
// thread-safe; owned by the controller of LoadBalancers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/context.h"
#include "base/mutex.h"
#include "lb/driver.h"

namespace berth::controllers::loadbalancer {

class Describer {
 public:
  // Hears of each answer, without a lock held.
  using OnAnswer = std::function<void(const model::LoadBalancerRef& lb)>;
  Describer(Tasks& tasks, const lb::Drivers& drivers, OnAnswer on_answer);

  using Credentials = std::vector<model::CredentialId>;  // of who has ports there; at least one

  // The answer that came since it was last taken. Nothing: it is asked for now.
  std::optional<Result<model::LoadBalancerInfo>> take(const model::LoadBalancerRef& lb,
                                                      const Credentials& credentials = {{}});

  // Until the stop.
  void run(const Context& context);

 private:
  using Refs = std::vector<model::LoadBalancerRef>;
  using Due = std::map<model::LoadBalancerRef, Credentials>;
  // What one provider is asked.
  struct Queue {
    lb::Directory* directory = nullptr;
    std::unique_ptr<Signal> asked{};
    Due due{};
  };
  struct Answer {
    Result<model::LoadBalancerInfo> info;
    Instant at{};
  };

  void serve(const Context& context, model::Provider provider);
  Due due_at(model::Provider provider);
  void describe(const Context& context, lb::Directory& directory, const Due& due);
  void answer(const model::LoadBalancerRef& lb, Result<model::LoadBalancerInfo> info);

  Tasks& tasks_;
  const OnAnswer on_answer_;
  mutable Mutex mu_;
  std::map<model::Provider, Queue> queues_ GUARDED_BY(mu_);  // none come or go
  std::map<model::LoadBalancerRef, Answer> answers_ GUARDED_BY(mu_);
};

}  // namespace berth::controllers::loadbalancer
