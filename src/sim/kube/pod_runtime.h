// The seam to what runs Pods: `kubectl logs` and `kubectl exec` end here. A node implements it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "wire/value.h"

namespace berth::sim::kube {

struct ExecResult {
  std::string output{};  // what it wrote to stdout
  std::string errors{};  // and to stderr
  int exit_code = 0;
};

// Called from any handler, without a lock held; the Pod is as stored, has a node and has that
// container. An error is shown to the client as it is worded.
class PodRuntime {
 public:
  virtual ~PodRuntime() = default;
  // Runs a command to its end. It has no input.
  virtual Result<ExecResult> exec(const wire::Value& pod, const std::string& container,
                                  const std::vector<std::string>& command) = 0;
  // All that the container wrote so far; with `previous`, the one before its last restart.
  virtual Result<std::string> log(const wire::Value& pod, const std::string& container,
                                  bool previous) = 0;
};

}  // namespace berth::sim::kube
