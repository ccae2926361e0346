// A simulated cluster with Berth installed on it, a person who takes it off, and a controller that
// runs outside of the cluster and keeps everything installed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/app.h"
#include "controllers/install/uninstall.h"
#include "scenario.h"
#include "sim/lb/model_driver.h"
#include "sim/world/cluster.h"

namespace berth::scenario {

inline const std::string kHousePools =
    "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/portpools";
inline const std::string kHouseListeners =
    "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/listeners";

// The App as a process of its own, as a supervisor runs it: started again when it crashes, and not
// when it ends by itself or refuses to start.
class OutsideController {
 public:
  explicit OutsideController(world::Cluster& cluster);
  ~OutsideController();

  void start();
  // Started again, if it was this one. False: another process.
  bool restart_after(sim::Process& dead);
  bool leading() const { return life_ && life_->app->leading(); }
  // How the last one ended; nothing while it runs.
  const std::optional<Result<>>& ended() const { return ended_; }
  bool has_listeners();
  // At the load balancer of the edge.
  std::size_t listeners_at(const std::string& lb) const {
    return provider_.listeners({model::Provider::edge, "", lb}).size();
  }

 private:
  struct Life {
    explicit Life(sim::Process& own) : process(own) {}
    sim::Process& process;
    std::unique_ptr<net::Transport> network;
    std::unique_ptr<sim::lb::ModelDriver> driver;
    std::unique_ptr<app::App> app;
    std::unique_ptr<Task> main;  // last: joined first
  };
  void run(Life& life, const std::stop_token& stop);

  world::Cluster& cluster_;
  sim::lb::ModelProvider provider_{{}};
  std::unique_ptr<Life> life_;
  std::optional<Result<>> ended_;
  int generation_ = 0;
};

class UninstallHouse {
 public:
  explicit UninstallHouse(world::ClusterOptions options = {});
  ~UninstallHouse();

  // What `berth manifests` prints, and these objects.
  Result<> furnish(std::string_view objects);
  // A controller that leads, and has made the ports of its pools.
  Result<> start_controller();
  OutsideController* controller() { return controller_.get(); }

  // Runs it to its end, again after each crash. What the last run said.
  Result<> uninstall(controllers::install::UninstallOptions options = {});
  controllers::install::Survey look();

  // Paths of what is there of everything that we install, and of our kinds.
  std::vector<std::string> left();

  world::Cluster& cluster() { return cluster_; }
  const std::vector<std::string>& told() const { return told_; }

 private:
  struct Person;
  void begin();

  world::Cluster cluster_;
  controllers::install::UninstallOptions options_;
  std::vector<std::string> told_;
  std::optional<Result<>> outcome_;
  std::unique_ptr<OutsideController> controller_;
  std::unique_ptr<Person> person_;
};

}  // namespace berth::scenario
