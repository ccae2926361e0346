// A node for one machine: every Pod gets an address of its own in 127.0.0.0/8 and answers on its
// ports.
//
// It plays the kubelet for servers that have none: sets the Pod's address, phase and conditions,
// and runs an echo server on each TCP port that its containers declare. Owned by the playground;
// runs one controller.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "edge/echo_server.h"
#include "kube/cache/informer.h"
#include "kube/cache/pod.h"
#include "kube/runtime/controller.h"
#include "kube/runtime/manager.h"

namespace berth::workloads {

class LoopbackNode {
 public:
  LoopbackNode(Tasks& tasks, kube::Client& client, Random random);

  void add_to(kube::Manager& manager);

 private:
  struct Room {
    std::string uid;
    std::string address;
    std::vector<std::unique_ptr<edge::EchoServer>> servers;
  };

  Result<kube::Requeue> reconcile(const Context& context, const kube::ObjectKey& key);
  Result<> open(const kube::Pod& pod);
  std::string next_address();

  kube::Client& client_;
  std::map<kube::ObjectKey, Room> rooms_;  // of the controller's one worker
  std::uint32_t given_addresses_ = 0;
  kube::Informer<kube::Pod> pods_;
  kube::Controller controller_;
};

}  // namespace berth::workloads
