#pragma once

// A cluster with real nodes for tests: a control plane and one or two nodes on which kubelet,
// containerd, runc and kube-proxy run Pods as they do everywhere. `./build` makes the programs; the
// environment variable BERTH_NODE_DIR names their directory. It needs root.
//
// start() moves the calling thread into a network namespace of its own, where the control plane, a
// bridge and all addresses are; nodes and players hang on that bridge. Threads and processes that
// this thread starts later are in it too: call it before the first thread, and once per process.
//
//   10.62.0.1     the control plane; the test itself
//   10.62.0.11    node-1, its Pods in 10.64.1.0/24; node-2 is 10.62.0.12 with 10.64.2.0/24
//   10.62.1.x     players
//   10.62.2.0/24  free: add_address() gives some to a node, for an edge
//
// Owner: a test suite; destroying the object kills the nodes with everything on them and takes away
// namespaces, mounts, cgroups and files. When the test is killed, the kernel and a process that
// waits for the nodes' end do the same. Threads: one at a time, and the thread that calls start()
// must outlive the object; kubectl() and on_node() from any.

#include <chrono>
#include <deque>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/control_plane.h"
#include "support/scratch_dir.h"
#include "support/subprocess.h"

namespace berth::testing {

inline constexpr std::chrono::seconds kNodeCommandTimeout{60};

// Somebody outside of the cluster, in a network namespace of their own. Pods, nodes and edges are
// reached at their addresses, Services at ports of nodes. Threads: any.
class Player {
 public:
  [[nodiscard]] const std::string& address() const { return address_; }

  // A command of the machine, or busybox, in the player's network.
  [[nodiscard]] CommandResult run(std::vector<std::string> command, std::string_view input = {},
                                  std::chrono::milliseconds timeout = kNodeCommandTimeout) const;

  // A shell script that does the same with its arguments, while this process lives.
  [[nodiscard]] std::string shell_wrapper() const;

  // Calls `work` on a thread in the player's network. Sockets that are made there stay there, also
  // when others use them afterwards.
  template <typename Work>
  auto inside(Work work) const {
    if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
      std::thread([&] { enter(), work(); }).join();
    } else {
      std::optional<std::invoke_result_t<Work>> result;
      std::thread([&] { enter(), result.emplace(work()); }).join();
      return std::move(*result);
    }
  }

 private:
  friend class RealNodes;
  Player(Fd network, std::string address)
      : network_(std::move(network)), address_(std::move(address)) {}
  void enter() const;
  [[nodiscard]] std::string path() const;

  Fd network_;
  std::string address_;
};

struct RealNodesOptions {
  int nodes = 1;
  // Loaded into every node, beside pause:1, busybox:1 and registry.example/room:1, which says back
  // what it hears at port 8000 (TCP and UDP).
  std::vector<std::filesystem::path> images{};
  // Appended to the flags of kube-apiserver.
  std::vector<std::string> api_server_args{};
  // How long a node may be silent before it counts as gone; Kubernetes' own default is 50 s. Long
  // enough for a machine that other builds share.
  std::chrono::seconds silence{20};
  // How long any single step of the start may take.
  std::chrono::seconds step_timeout{120};
};

class RealNodes {
 public:
  using Outcome = ControlPlane::Outcome;

  // Why there can be no real nodes here, and what to do about it, in one line: the reason to skip.
  static std::optional<std::string> unavailable();

  // Returns when all nodes are Ready and Pods can be created in the namespace "default".
  static std::expected<std::unique_ptr<RealNodes>, std::string> start(
      RealNodesOptions options = {});
  RealNodes(const RealNodes&) = delete;
  RealNodes& operator=(const RealNodes&) = delete;
  ~RealNodes();

  // The API server can be stopped, restarted and held there.
  [[nodiscard]] ControlPlane& plane() { return *plane_; }
  [[nodiscard]] CommandResult kubectl(std::vector<std::string> args,
                                      std::string_view input = {}) const {
    return plane_->kubectl(std::move(args), input);
  }

  // Nodes are numbered from 1.
  [[nodiscard]] int count() const { return options_.nodes; }
  [[nodiscard]] static std::string name(int node);
  [[nodiscard]] static std::string address(int node);
  // Where its Pods have their addresses.
  [[nodiscard]] static std::string pod_cidr(int node);

  // A docker archive, into every node that runs. A Pod names it as the archive does.
  Outcome load_image(const std::filesystem::path& archive);
  // What Pods of the node can name.
  [[nodiscard]] std::vector<std::string> images(int node) const;
  // One more address of the node, of the network 10.62.0.0/16.
  Outcome add_address(int node, const std::string& address);
  // A command in all namespaces of the node, in its root directory: programs of the node such as
  // nft, ctr and busybox, and those of the machine.
  [[nodiscard]] CommandResult on_node(
      int node, std::vector<std::string> command, std::string_view input = {},
      std::chrono::milliseconds timeout = kNodeCommandTimeout) const;

  // kubelet alone dies (SIGKILL) and stays away; its Pods run on.
  Outcome stop_kubelet(int node);
  // Returns when kubelet answers.
  Outcome start_kubelet(int node);

  // All of the node at once, as when its power is cut. Its disk is kept.
  void kill_node(int node);
  // As when power is back. Returns when kubelet answers.
  Outcome start_node(int node);

  std::expected<Player*, std::string> add_player();

  // What the node's programs wrote last; for messages of failures.
  [[nodiscard]] std::string logs(int node, std::size_t lines = 40) const;

  // Names the cluster wherever the machine can see something of it: in cgroups and in `directory`.
  [[nodiscard]] std::string id() const { return dir_.path().filename().string(); }
  [[nodiscard]] const std::filesystem::path& directory() const { return dir_.path(); }
  // The process whose end is the node's end.
  [[nodiscard]] pid_t process_id(int node) const { return nodes_[index(node)]->pid(); }
  [[nodiscard]] std::chrono::milliseconds start_duration() const { return start_duration_; }

 private:
  RealNodes(RealNodesOptions options, ScratchDir dir);

  static std::size_t index(int node) { return static_cast<std::size_t>(node - 1); }
  Outcome bring_up();
  Outcome start_plane();
  Outcome launch(int node);
  Outcome wait_until_ready();
  Outcome wait_for_kubelet(int node);
  [[nodiscard]] std::string settings(int node) const;
  [[nodiscard]] std::filesystem::path folder(int node) const;

  RealNodesOptions options_;
  ScratchDir dir_;
  std::unique_ptr<ControlPlane> plane_;
  // Empty for a node that was killed.
  std::vector<std::optional<Process>> nodes_;
  std::deque<Player> players_;
  std::chrono::milliseconds start_duration_{0};
};

}  // namespace berth::testing
