// The composition root: builds every part of the controller from a Config and the three seams, and
// runs it.
//
// The binary gives it threads, curl and drivers of load balancers; simulation gives it fibers, an
// in-process API server and a model. Owns all parts; `admit` may be called by any task, the rest by
// one.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/config.h"
#include "app/modules.h"
#include "base/context.h"
#include "base/random.h"
#include "controllers/install/plan.h"
#include "engine/engine.h"
#include "kube/admission/certificate_keeper.h"
#include "kube/client/config.h"
#include "kube/runtime/health.h"
#include "metrics/registry.h"
#include "net/server.h"
#include "net/transport.h"

namespace berth::app {

// An HTTP server of a module, and who answers there when this replica may.
struct ModuleServer {
  module::Server is{};
  net::Handler answer{};
};

class App {
 public:
  // The core is the first of the modules.
  App(Tasks& tasks, net::Transport& transport, std::shared_ptr<const kube::ClusterConfig> cluster,
      Config config, lb::Drivers drivers, Random random,
      std::span<const module::Module> modules = all_modules());
  ~App();

  // What must be there before anything runs: the webhook's certificate, our keys and our CRDs.
  Result<> prepare(const Context& context);
  // Current after `prepare`; the callback hears of renewals.
  std::shared_ptr<const kube::WebhookCertificate> certificate() const;
  void on_certificate(std::function<void(const kube::WebhookCertificate&)> callback);
  void set_webhook_address(controllers::install::WebhookAddress address);

  // Hears that another replica leads, before the parts are stopped: the time to let go of what this
  // process carries. Before `run`.
  void on_deposed(std::function<void(const Context&)> step);

  // Blocks until the stop (success), or until another replica leads in our place (`conflict`). A
  // lead that is lost for want of an API server is waited for.
  Result<> run(const Context& context);

  // Where a webhook is called now: with the secret end of its path. Not for logs.
  std::string webhook_path(std::string_view path) const;
  // The handler of the webhook server.
  net::Reply admit(const net::Request& request, std::stop_token stop);
  // The answer to one who may not call webhooks at all.
  net::Reply turn_away();
  kube::Health& health();
  // HTTP servers that modules want beside the webhooks'.
  const std::vector<ModuleServer>& servers() const;
  // Where other replicas reach this one ("192.0.2.1:9444"), for as long as it leads. Before `run`.
  void set_own_address(std::string address);
  // Where the leader is reached. The message of an error is for whoever asked for the leader.
  Result<std::string> leader_address() const;
  // How a replica is known to another one: by a name in its certificate, and the keys that all
  // share (null before `prepare`).
  std::string certificate_name() const;
  std::shared_ptr<const crypto::KeyRing> keys() const;
  // What /metrics shows; others may add to it while the App lives.
  metrics::Registry& registry();
  bool leading() const;
  // Where what modules run is not what they declare: a defect, which tests look for.
  std::vector<std::string> flaws() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::app
