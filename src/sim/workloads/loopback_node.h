// A node for one machine: scheduler, kubelet and kube-proxy in one. Every Pod gets an address of
// its own in 127.0.0.0/8 and says back what it hears on the ports that its containers declare; on
// those that are called "http" or "http-..." it answers requests.
//
// It binds Pods, reports their status, honours readiness gates and probes' delays, gives out host
// ports, forwards node ports, and ends Pods that are being deleted. Owned by the playground. `exec`
// and `log` may be called from any task, the rest is for set-up.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "edge/echo_station.h"
#include "kube/cache/informer.h"
#include "kube/cache/pod.h"
#include "kube/runtime/controller.h"
#include "kube/runtime/event_recorder.h"
#include "kube/runtime/manager.h"
#include "sim/workloads/node_ports.h"
#include "sim/workloads/pod_files.h"
#include "sim/workloads/pod_status.h"

namespace berth::workloads {

// Lines of a container's log that are kept; the oldest go first.
inline constexpr std::size_t kMaxLogLines = 1000;

struct NodeOptions {
  std::string name = "loopback";
  std::string address = "127.0.0.1";  // host ports and node ports are opened there
  std::size_t max_sockets = edge::kMaxEchoSockets;
};

class LoopbackNode {
 public:
  // Both outlive it.
  LoopbackNode(Tasks& tasks, kube::Client& client, Random random, NodeOptions options = {});
  ~LoopbackNode();

  void add_to(kube::Manager& manager);
  // Events about Pods go there; without it, nowhere. It outlives the node.
  void report_to(kube::EventRecorder& recorder) { recorder_ = &recorder; }

  // Runs a command in a container of the Pod, which is as the server has it now: files follow it,
  // the environment is the one that the container began with.
  Result<CommandOutput> exec(const wire::Value& pod, const std::string& container,
                             const std::vector<std::string>& command) const;
  // What the container has written so far.
  Result<std::string> log(const wire::Value& pod, const std::string& container) const;

 private:
  class Journal;
  struct Room;

  Result<> join_cluster(const Context& context);
  Result<kube::Requeue> reconcile(const Context& context, const kube::ObjectKey& key);
  Result<kube::Requeue> place(const Context& context, const kube::Pod& pod);
  Result<bool> say_unschedulable(const Context& context, const wire::Value& pod);
  Result<kube::Requeue> run(const Context& context, const kube::Pod& pod);
  Result<kube::Requeue> say_trouble(const Context& context, const wire::Value& pod,
                                    const Error& error);
  Result<kube::Requeue> end(const Context& context, const kube::Pod& pod);

  Result<std::shared_ptr<Room>> open(const Context& context, const wire::Value& pod);
  Result<> open_ports(Room& room, const wire::Value& pod);
  struct Door {
    model::Transport protocol = model::Transport::tcp;
    model::Target at{};
    bool http = false;
  };
  Result<> open_port(Room& room, const Door& door, const std::string& container,
                     const std::string& pod);
  void close(const kube::ObjectKey& key);
  std::shared_ptr<Room> room_of(const kube::ObjectKey& key) const;
  // Where it runs, or why it does not.
  Result<std::shared_ptr<Room>> running(const wire::Value& pod, const std::string& container) const;
  bool is_settled(const kube::Pod& pod, const Room& room) const;
  // False: the Pod has changed meanwhile.
  Result<bool> write_status(const Context& context, const wire::Value& pod, wire::Object status);
  std::string next_address();

  kube::Client& client_;
  const NodeOptions options_;
  kube::EventRecorder* recorder_ = nullptr;
  // Of the controller's one worker.
  std::uint32_t given_addresses_;
  std::map<kube::ObjectKey, std::vector<HostPort>> host_ports_;
  std::set<kube::ObjectKey> waiting_;  // for a port or a socket
  std::unique_ptr<edge::EchoStation> station_;
  mutable Mutex mu_;
  std::map<kube::ObjectKey, std::shared_ptr<Room>> rooms_ GUARDED_BY(mu_);
  kube::Informer<kube::Pod> pods_;
  NodePorts node_ports_;
  kube::Controller controller_;
};

}  // namespace berth::workloads
