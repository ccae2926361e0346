// What a module is built from, and where it says what it runs.
//
// Made by the composition root, which builds the core first and then the front ends that are on;
// all that a module is given here outlives it. Modules add their parts while they are built, on one
// task; afterwards nobody changes anything.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "claims/courtesy.h"
#include "claims/grantor.h"
#include "claims/resolver.h"
#include "claims/seal.h"
#include "engine/engine.h"
#include "frontend/keeper.h"
#include "kube/admission/router.h"
#include "kube/client/client.h"
#include "kube/runtime/event_recorder.h"
#include "kube/runtime/manager.h"
#include "lb/driver.h"
#include "module/caches.h"
#include "module/config.h"
#include "net/server.h"

// Known to the layer above: what a module tells people is not the business of what it runs on.
namespace berth::report {
struct Part;
}

namespace berth::module {

// What the core gives to front ends.
struct Core {
  kube::Informer<api::Listener>& listeners;
  kube::Informer<api::LoadBalancer>& balancers;
  kube::Informer<api::PortBlock>& blocks;
  claims::Grantor& grantor;
  const claims::Resolver& resolver;
  frontend::Keeper& keeper;  // from what is wanted to grants and Listeners
  engine::Engine& engine;

  // Whether the targets of a Listener are what its owner says it leads to, by the kind of the
  // owner. What nobody vouches for leads nowhere. `unavailable`: it will be known in a moment.
  using TargetCheck = std::function<Result<>(const api::Listener& listener)>;
  std::map<std::string, TargetCheck, std::less<>>& vouchers;
  // Hear that it is known now what this name of a load balancer means, or why not.
  using NameStep = std::function<void(const model::LoadBalancerRef& named)>;
  std::vector<NameStep>& on_name;
  // Hears that a Listener is about to change: what is wished of its load balancer may then wait for
  // it.
  std::function<void(const api::Listener& listener, engine::Notice notice)> expect{};
};

struct Platform {
  Tasks& tasks;
  const Config& config;
  const lb::Drivers& drivers;
  metrics::Registry& registry;
  kube::Client& client;         // for what every replica does
  kube::Client& leader_client;  // for what only the leader may write
  Caches& caches;
  kube::Manager& manager;  // for controllers, and for what is done when this replica leads
  kube::EventRecorder& events;
  const claims::Sealer& sealer;
  claims::Courtesy& courtesy;
  Random random;
  std::function<bool()> may_write;  // the fence of the leader election

  // There when front ends are built.
  std::optional<Core> core{};

  // What modules add.
  struct Route {
    std::string path;
    kube::AdmissionHandler handler;
  };
  std::vector<Route> routes{};  // of webhooks that are declared
  // Runs beside the controllers on every replica, until the stop.
  struct Beside {
    std::string name;
    std::function<void(const Context& context)> body;
  };
  std::vector<Beside> beside{};
  // Who answers at a server that is declared.
  struct Answer {
    std::string server;
    net::Handler handler;
  };
  std::vector<Answer> answers{};
  // The keys that seal what we write have changed.
  std::vector<std::function<void()>> on_keys{};
};

// A module: what it is, what it runs, and what it tells people. A plain value; the list of all of
// them is in one place (app/modules.cpp).
struct Module {
  Declaration (*declare)(const Config& config);
  // Builds what it runs; that lives as long as what is returned.
  std::shared_ptr<void> (*build)(Platform& platform);
  // Of `berth status` and `berth explain`; null: nothing.
  const report::Part* report = nullptr;
};

}  // namespace berth::module
