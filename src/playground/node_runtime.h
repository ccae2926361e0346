// The way from the embedded API server to the node, for `kubectl logs` and `kubectl exec`. The
// server is there before the node and may outlive it; any thread calls.
#pragma once

#include "base/mutex.h"
#include "sim/kube/pod_runtime.h"
#include "sim/workloads/loopback_node.h"

namespace berth::playground {

class NodeRuntime final : public sim::kube::PodRuntime {
 public:
  // Shared with calls under way, so that none of them meets a node that is gone.
  void set_node(std::shared_ptr<const workloads::LoopbackNode> node);

  Result<sim::kube::ExecResult> exec(const wire::Value& pod, const std::string& container,
                                     const std::vector<std::string>& command) override;
  Result<std::string> log(const wire::Value& pod, const std::string& container,
                          bool previous) override;

 private:
  Result<std::shared_ptr<const workloads::LoopbackNode>> node() const;

  mutable Mutex mu_;
  std::shared_ptr<const workloads::LoopbackNode> node_ GUARDED_BY(mu_);
};

}  // namespace berth::playground
