// Node ports of Services, at the node's address: what kube-proxy does on a real node. The edge
// carries them, in turns over the Pods that are ready.
//
// Owned by the node, whose Pods it is shown; runs one controller. All is for set-up.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "edge/driver.h"
#include "kube/cache/informer.h"
#include "kube/runtime/controller.h"
#include "kube/runtime/manager.h"
#include "sim/workloads/any_object.h"
#include "sim/workloads/service.h"

namespace berth::workloads {

class NodePorts {
 public:
  // All of them outlive it. `pods` has their labels.
  NodePorts(Tasks& tasks, kube::Client& client, kube::Store<kube::Pod>& pods, Random random,
            std::string address);
  ~NodePorts();

  void add_to(kube::Manager& manager);

 private:
  struct Open {
    model::ListenerId id{};
    model::ListenerSpec spec{};
  };
  using OpenPorts = std::vector<Open>;

  Result<> begin();
  Result<kube::Requeue> reconcile(const Context& context, const kube::ObjectKey& key);
  void close_others(const Context& context, OpenPorts& open,
                    const std::vector<model::ListenerSpec>& wished);
  Result<> lead(const Context& context, OpenPorts& open, const model::ListenerSpec& wished);

  kube::Store<kube::Pod>& pods_;
  const std::string address_;
  // Of the controller's one worker.
  std::unique_ptr<edge::EdgeDriver> edge_;
  std::map<kube::ObjectKey, OpenPorts> open_;  // by Service
  kube::Informer<AnyObject> services_;
  kube::Controller controller_;
};

}  // namespace berth::workloads
