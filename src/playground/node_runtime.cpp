#include "playground/node_runtime.h"

namespace berth::playground {

void NodeRuntime::set_node(std::shared_ptr<const workloads::LoopbackNode> node) {
  const MutexLock lock(mu_);
  node_ = std::move(node);
}

Result<std::shared_ptr<const workloads::LoopbackNode>> NodeRuntime::node() const {
  const MutexLock lock(mu_);
  if (!node_) return fail(Code::unavailable, "the node is not up");
  return node_;
}

Result<sim::kube::ExecResult> NodeRuntime::exec(const wire::Value& pod,
                                                const std::string& container,
                                                const std::vector<std::string>& command) {
  auto runs_on = node();
  if (!runs_on) return pass(runs_on);
  auto ran = (*runs_on)->exec(pod, container, command);
  if (!ran) return pass(ran);
  return sim::kube::ExecResult{
      .output = std::move(ran->out), .errors = std::move(ran->err), .exit_code = ran->exit_code};
}

Result<std::string> NodeRuntime::log(const wire::Value& pod, const std::string& container,
                                     bool previous) {
  if (previous) {
    return fail(Code::not_found, "previous terminated container \"{}\" in pod \"{}\" not found",
                container, wire::string_at(pod, "/metadata/name"));
  }
  auto runs_on = node();
  if (!runs_on) return pass(runs_on);
  return (*runs_on)->log(pod, container);
}

}  // namespace berth::playground
