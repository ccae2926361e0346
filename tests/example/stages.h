// A front end of one small kind: a Stage gives an address a port of a load balancer. It belongs to
// the whole cluster: its Listeners live in our namespace.
#pragma once

#include <memory>

#include "module/platform.h"

namespace berth::example {

struct StageSpec {
  std::string load_balancer_id{}, address{};
  std::int64_t port = 0;
};
struct StageStatus {
  std::int64_t public_port = 0;  // 0: not reached yet
  std::string message{};
  friend bool operator==(const StageStatus&, const StageStatus&) = default;
};
struct Stage {
  kube::ObjectMeta meta{};
  StageSpec spec{};
  StageStatus status{};
};

namespace stages {

const api::KindInfo& kind();
Result<Stage> decode(const wire::Value& object);

// Its line in the list of modules.
module::Declaration declare(const module::Config& config);
std::shared_ptr<void> build(module::Platform& platform);

}  // namespace stages
}  // namespace berth::example
