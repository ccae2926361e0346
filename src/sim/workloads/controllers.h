// The controllers that a cluster's controller manager runs, as far as a playground needs them:
// Deployments, ReplicaSets, StatefulSets, GameStatefulSets, Services and their endpoints, garbage
// and namespaces.
//
// Thin: every decision is a `plan_*` function beside it. Owned by the composition root; `run`
// blocks its task, everything else is for set-up.
#pragma once

#include <memory>

#include "base/context.h"
#include "base/random.h"
#include "kube/client/client.h"

namespace berth::workloads {

struct ControllersOptions {
  // Needs the definition of that kind on the server.
  bool game_stateful_sets = false;
};

class Controllers {
 public:
  // Both outlive it.
  Controllers(Tasks& tasks, kube::Client& client, Random random, ControllersOptions options = {});
  ~Controllers();

  // Until the stop.
  Result<> run(const Context& context);
  // They work: what is created from now on is seen to. Any task may ask.
  bool ready() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::workloads
