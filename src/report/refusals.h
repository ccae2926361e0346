// Who was refused ports lately: workloads whose Pods admission sent back, from the events on them.
#pragma once

#include <string>
#include <vector>

#include "base/context.h"
#include "base/time.h"
#include "kube/client/client.h"

namespace berth::report {

// Refusals that are older have been seen, or are repeated.
inline constexpr Duration kLately = std::chrono::minutes{10};

struct Refusal {
  std::string object{};   // "Deployment games/lobby"
  std::string message{};  // of the last one
  Duration ago{};
  // The workload has as many Pods as it wants by now, or is gone: nobody waits.
  bool over = false;
};

// Of all namespaces, the newest first. `forbidden`: we may not read events.
Result<std::vector<Refusal>> read_refusals(const Context& context, kube::Client& client,
                                           WallTime now);

}  // namespace berth::report
