// Everything in one process, on loopback, without root and without a cluster: the embedded API
// server, workload controllers, the controller, the edge load balancer, and a node whose Pods
// answer.
//
// Owned by a command or a test. The destructor stops all parts and removes the kubeconfig file.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/context.h"
#include "edge/address_plan.h"
#include "kube/client/client.h"
#include "playground/overview.h"
#include "sim/cloud/tencent/state.h"
#include "wire/value.h"

namespace berth::playground {

struct Options {
  // Use this cluster instead of the embedded server: its API server must reach loopback.
  std::string cluster_kubeconfig{};
  // That cluster is an API server alone: bring the workload controllers too, as for our own.
  bool bring_workloads = false;
  std::string version = "dev";    // shown in the metrics
  std::string kubeconfig_path{};  // where the kubeconfig for kubectl is written
  // A path that is in use gives way to one beside it: see kubeconfig_file.h.
  bool kubeconfig_or_beside = false;
  std::uint16_t api_port = 0;  // 0: any free one
  // How long a port stays unused between two rooms. Shorter than a cluster should have it: nobody's
  // players are about.
  Duration quarantine = std::chrono::seconds{1};
  std::optional<edge::LowPorts> low_ports{};  // none: what this process may open
  // Whose load balancers are those that are written without a provider. Tencent's come with a
  // simulated cloud.
  model::Provider cloud = model::Provider::edge;
  // What the simulated cloud has beside its own load balancers. Account, network and addresses are
  // filled in where they are left out.
  std::vector<sim::tencent::LoadBalancer> cloud_load_balancers{};
  // What our key of it may do.
  sim::tencent::Policy cloud_policy{"*:*"};
};

class Playground {
 public:
  // Returns when the controller is ready to admit Pods.
  static Result<std::unique_ptr<Playground>> start(const Context& context, Options options);
  ~Playground();

  const std::string& kubeconfig_path() const;
  // Where /metrics of the controller is: "http://127.0.0.1:41234".
  std::string ops_url() const;
  // Where the simulated cloud shows its state: "https://127.0.0.1:41235". Empty: there is none.
  std::string cloud_url() const;
  kube::Client& client();
  // Fails once a part has ended and could not be started again: nothing good comes of this
  // playground any more.
  Result<> standing() const;
  // How often the controller ended and was started again, as after a pause that cost it its lease.
  std::size_t controller_restarts() const;
  // As `kubectl create -f`: every document, in order. A namespace or pool that is there already is
  // passed over.
  Result<> create(const Context& context, std::string_view yaml);
  // Pods that asked for a port.
  Result<std::vector<Room>> rooms(const Context& context);
  // All Pods, Services, pools, and the workloads whose Pods were refused; in natural order.
  Result<Overview> overview(const Context& context);
  // Waits until the Pod's port leads to it.
  Result<Room> wait_for_room(const Context& context, const std::string& pod);

 private:
  Result<LowPortsByVip> low_ports(const Context& context);

  class Impl;
  explicit Playground(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::playground
