// Keeps what Berth needs installed and current: when somebody deletes or edits one of the objects,
// it is put back.
//
// Runs on the leader. Owned by the composition root.
#pragma once

#include <functional>
#include <memory>

#include "controllers/install/plan.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/runtime/controller.h"
#include "kube/runtime/manager.h"

namespace berth::controllers::install {

class Installer {
 public:
  // `ca_bundle` gives the bundle that is current; empty while there is none.
  Installer(Tasks& tasks, kube::Client& client, Settings settings,
            std::function<std::string()> ca_bundle, Random random, metrics::Registry* registry);
  ~Installer();

  // Puts the CRDs and priority levels in place and waits until the CRDs are served: caches of our
  // kinds can start then. The webhooks follow when the controller runs, and with it somebody who
  // answers them.
  Result<> install(const Context& context);
  // Where the API server finds our webhooks. Before `add_to`.
  void set_webhook_address(WebhookAddress address) { settings_.webhooks = std::move(address); }

  // Caches and the controller that watch over it from then on.
  void add_to(kube::Manager& manager);
  // Look at everything again: the bundle has changed.
  void refresh();

 private:
  struct Watched;
  Result<kube::Requeue> reconcile(const Context& context, const kube::ObjectKey& key);
  Result<> ensure(const Context& context, const Wanted& wanted);
  // Goes on without it where there is no such kind, or no right to it.
  Result<> prepare_guard(const Context& context);
  Result<> wait_established(const Context& context, const std::string& crd);

  kube::Client& client_;
  Settings settings_;
  const std::function<std::string()> ca_bundle_;
  kube::Controller controller_;
  std::unique_ptr<Watched> watched_;
};

}  // namespace berth::controllers::install
