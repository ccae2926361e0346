// A small universe for the whole controller: replicas of the App on one embedded API server, with
// everything outside of them modelled, under one seeded scheduler.
//
// Replicas crash as the kernel's plan says and are built again from the API server alone; one that
// ends by itself, because it lost the lease, is started anew as a container would be. The kubelet
// and the carrier of traffic are the world's own and never crash. Made and used by one thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/app.h"
#include "app/driver_set.h"
#include "lb/driver.h"
#include "sim/lb/model_provider.h"
#include "sim/world/cluster.h"
#include "sim/world/kubelet.h"

namespace berth::world {

// They cost each life two more watches: a world that has some turns them on.
inline app::Config without_ingresses() {
  app::Config config;
  config.without = {"ingress"};
  // People in these worlds contend for ports.
  config.refuse_taken_ports = false;
  return config;
}

// Load balancers of another kind than the model's, with a driver of their own. Outlives the world.
class OutsideCloud {
 public:
  virtual ~OutsideCloud() = default;

  // How a process that has just started reaches it, and its way to the API server.
  virtual app::DriverPart connect(sim::Process& process, net::Transport& to_server) = 0;
  // Ends what is over by now.
  virtual void advance(sim::Kernel& kernel) = 0;
  virtual sim::lb::ProviderView& view() = 0;
};

struct WorldOptions {
  ClusterOptions cluster{};  // its webhooks are the world's
  KubeletOptions kubelet{};
  int replicas = 1;
  std::span<const module::Module> modules = app::all_modules();  // of every replica
  app::Config config = without_ingresses();  // of every replica, but for who it is
  // How far the wall clock of each replica is ahead of the API server's, or behind. One that takes
  // another's place runs on the same machine; those without a number have the right time.
  std::vector<Duration> clocks_ahead{};
  // A crashed replica is back after this.
  Duration restart_delay = std::chrono::seconds{2};
  // What a test puts between a replica and its surroundings, to plant a defect.
  std::function<std::unique_ptr<net::Transport>(net::Transport&)> around_transport{};
  std::function<std::unique_ptr<lb::Listeners>(lb::Listeners&)> around_listeners{};
  // Answers in place of the replicas where it wants to: other webhooks of the cluster, and planted
  // defects. It must not wait.
  std::function<std::optional<net::Reply>(const std::string& url, const std::string& body)>
      answer_webhook{};
  sim::lb::ModelOptions provider{};
  OutsideCloud* cloud = nullptr;  // serves all load balancers in place of the model
};

class World final : public sim::kube::WebhookCaller {
 public:
  World(std::uint64_t seed, WorldOptions options);
  ~World() override;

  Cluster& cluster() { return cluster_; }
  sim::Kernel& kernel() { return cluster_.kernel(); }
  // Where the load balancers are; outlives every replica, as a cloud does.
  sim::lb::ModelProvider& provider() { return provider_; }
  // What load balancers have, whoever serves them.
  sim::lb::ProviderView& view();
  // What references of users mean that do not say it.
  const model::LoadBalancerDefaults& defaults() const { return options_.config.load_balancers; }

  // Replicas that lead and may write, at this moment.
  int leaders() const;
  int listening() const;
  // Stops the replica as a rolling update does, drained, and starts another one in its place. From
  // a task of the world, or from outside.
  void restart(std::size_t index);
  // The same, but nobody comes in its place.
  void stop(std::size_t index);

  // What replicas are started with from now on.
  void configure(app::Config config) { options_.config = std::move(config); }

  // All replicas die in this moment, and are back after the delay.
  void crash_all();

  // Everything, or one resource, is as it was when the backup was made; nodes look around then.
  void restore(const sim::kube::Backup& backup, std::string_view resource = {});

  Result<net::Response> call(const sim::kube::WebhookTarget& target, const std::string& body,
                             Duration timeout) override;

 private:
  struct Answered;
  class Replica;

  app::DriverPart connect(sim::Process& process, net::Transport& to_server);
  void start_replica(std::size_t index);
  void replace(sim::Process& dead);
  std::vector<Replica*> reachable() const;

  WorldOptions options_;
  Cluster cluster_;
  Kubelet kubelet_;
  sim::lb::ModelProvider provider_;
  Random random_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::list<std::unique_ptr<Replica>> leaving_;  // those that stop in order
  int generation_ = 0;
};

}  // namespace berth::world
