// A kernel with an embedded API server on it: what every scenario starts from.
//
// Faults of the network are in `link`, which every
// transport of this cluster obeys. Made and used by one thread; whatever runs on it is destroyed
// first.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/transport.h"
#include "sim/kernel/kernel.h"
#include "sim/kube/server.h"
#include "sim/world/people.h"
#include "sim/world/server_gateway.h"
#include "sim/world/sim_transport.h"
#include "wire/value.h"

namespace berth::world {

struct ClusterOptions {
  sim::KernelOptions kernel{};
  LinkOptions link{};
  std::size_t history_changes = 8192;
  bool tracks_fields = true;  // of the server
  // What the server goes on from; empty: a new cluster.
  std::shared_ptr<const sim::kube::Backup> begins_with{};
  sim::kube::WebhookCaller* webhooks = nullptr;
  // Who is known to the server besides us; whoever shows no token is the world itself.
  std::vector<Person> people{};
  // How often the server ends watches and sends bookmarks.
  Duration tick = std::chrono::seconds{1};
};

class Cluster {
 public:
  static constexpr const char* kServerUrl = "https://api.world";

  Cluster(std::uint64_t seed, ClusterOptions options);
  ~Cluster();

  sim::Kernel& kernel() { return kernel_; }
  sim::kube::Server& server() { return *server_; }
  ServerGateway& gateway() { return gateway_; }
  LinkOptions& link() { return link_; }
  std::unique_ptr<net::Transport> connect(sim::Process& process);

  // What a user does with kubectl: one request that never crashes. The answer's body, or the Status
  // as an error. From a task of the world, or from outside.
  Result<wire::Value> ask(const std::string& method, const std::string& path,
                          const wire::Value& body = nullptr);
  Result<wire::Value> ask(const net::Request& request);
  // Documents as `kubectl create` would send them, one after the other.
  Result<> create_all(std::string_view yaml);
  // The same, but those that are there already are passed over: for one that tries again.
  Result<> create_missing(std::string_view yaml);
  // The items of a collection, as the server has them at this moment.
  Result<std::vector<wire::Value>> list(const std::string& path);

  // A task of the world; it ends when the cluster does. The flag is set when the body is through: a
  // body that is stopped late may outlive the function that started it, so it must not hold
  // references into that function.
  std::shared_ptr<const bool> play(std::string name, std::function<void(std::stop_token)> body);
  // Stops the tasks that `play` started and waits for their end: before what they use goes.
  void end_players();
  // Sleeps on a task of the world.
  bool pause(Duration span, std::stop_token stop);

  Result<> run_until(const std::function<bool()>& done, sim::RunLimits limits = {});
  Result<> run_for(Duration span);
  // Runs until nobody has tried to write anything but Leases for this long.
  Result<> settle(Duration idle, sim::RunLimits limits = {});

 private:
  sim::Kernel kernel_;
  LinkOptions link_;
  std::unique_ptr<sim::kube::Server> server_;
  ServerGateway gateway_;
  std::vector<std::unique_ptr<Task>> chores_;
};

// The request that `ask` sends.
net::Request request_of(const std::string& method, const std::string& path,
                        const wire::Value& body);

}  // namespace berth::world
