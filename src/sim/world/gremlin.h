// Makes things go wrong at random on the API server, until it is told to stop: watches are dropped,
// history is compacted, requests are refused or answered late, first lists are stale.
//
// A task of the cluster; everything it does comes from its seed. The cluster outlives it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/world/cluster.h"

namespace berth::world {

struct GremlinOptions {
  // Between two of its deeds, up to twice this.
  Duration pause = std::chrono::seconds{2};
  // Resources whose requests it refuses and delays; empty: all.
  std::vector<std::string> resources{};
  std::vector<std::string> verbs{"get", "list", "watch", "create", "update", "patch", "delete"};
  Duration max_delay = std::chrono::seconds{12};
  int max_repeats = 3;
  bool stale_lists = true;
};

class Gremlin {
 public:
  Gremlin(Cluster& cluster, GremlinOptions options);

  // It rests from now on, and all that it prepared is forgotten.
  void stop();

 private:
  Duration up_to(Duration most);
  void act();
  void refuse();
  void delay();
  void serve_stale_lists();
  sim::kube::FaultTarget target();
  const std::string& any_of(const std::vector<std::string>& list);

  Cluster& cluster_;
  const GremlinOptions options_;
  Random random_;
  std::unique_ptr<Task> task_;
};

}  // namespace berth::world
