// Keeps what Berth needs installed and current: when somebody deletes or edits one of the objects,
// it is put back. Not while Berth is being removed.
//
// Installs on the leader; every replica knows of a removal. Owned by the composition root.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "controllers/install/plan.h"
#include "controllers/install/removal.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/runtime/controller_of.h"
#include "kube/runtime/manager.h"

namespace berth::controllers::install {

// One of the objects that we install: all of them are cluster-scoped.
struct InstalledKey {
  std::string resource{};  // its plural
  std::string name{};

  kube::ObjectKey queued() const { return {resource, name}; }
  static InstalledKey from_queue(const kube::ObjectKey& key) { return {key.ns, key.name}; }
  friend bool operator==(const InstalledKey&, const InstalledKey&) = default;
};

class Installer {
 public:
  // `ca_bundle` gives the bundle that is current; empty while there is none. `segment`: the secret
  // end of the webhooks' paths.
  Installer(Tasks& tasks, kube::Client& client, Settings settings,
            std::function<std::string()> ca_bundle, std::function<std::string()> segment,
            Random random, metrics::Registry* registry);
  ~Installer();

  // `precondition`: Berth is being removed, and nothing may be written.
  Result<> check_wanted(const Context& context);
  // Puts the CRDs and priority levels in place and waits until the CRDs are served: caches of our
  // kinds can start then. The webhooks follow when the controller runs, and with it somebody who
  // answers them.
  Result<> install(const Context& context);
  // Where the API server finds our webhooks. Before the manager runs.
  void set_webhook_address(WebhookAddress address) { settings_.webhooks = std::move(address); }

  // Caches and the controller that watch over it from then on.
  void add_to(kube::Manager& manager);
  // After `install`, which finds out whether the server knows the guard's kinds.
  void add_guard_to(kube::Manager& manager);
  // Look at everything again: the bundle or the path has changed.
  void refresh();

  // As the cache knows it. Any thread.
  bool is_being_removed() const { return removal_ != Removal::none; }
  // Called when this process is to end, on a task that must not be held up; more than once, maybe.
  // Before `add_to`.
  void on_leave(std::function<void()> callback) { on_leave_ = std::move(callback); }

 private:
  struct Watched;
  // Made anew when the settings or the bundle are others than before: each object that changes is
  // looked up there.
  std::vector<WantedPtr> wanted_now();
  Result<kube::Requeue> reconcile(const Context& context, const InstalledKey& key);
  // The object as it is then.
  Result<wire::Value> ensure(const Context& context, const WantedPtr& wanted);
  // The cache has the very object that was looked at when it was as it is wanted now. When the
  // cache is late, what it hears next brings us back.
  bool is_known_good(const WantedPtr& wanted);
  void note_good(const WantedPtr& wanted, const wire::Value& found);
  void heed(Removal removal);
  // Goes on without it where there is no such kind, or no right to it.
  Result<> prepare_guard(const Context& context);
  // `crd`: as it was found.
  Result<> wait_established(const Context& context, wire::Value crd);

  kube::Client& client_;
  Settings settings_;
  const std::function<std::string()> ca_bundle_;
  const std::function<std::string()> segment_;
  kube::ControllerOf<InstalledKey> controller_;
  std::atomic<Removal> removal_{Removal::none};
  std::function<void()> on_leave_;
  std::unique_ptr<Watched> watched_;

  // What changes while a process lives, and what is wanted then.
  struct WantedFor {
    WebhookAddress webhooks{};
    std::string known_as{};
    bool guard = true;
    std::string ca_bundle{};
    std::vector<WantedPtr> standing{};
    std::vector<WantedPtr> hooks{};
  };
  struct Good {
    std::string uid{};
    std::string version{};
    WantedPtr wanted{};
  };
  Mutex mu_;
  std::optional<WantedFor> wanted_ GUARDED_BY(mu_);
  std::map<kube::ObjectKey, Good> good_ GUARDED_BY(mu_);  // by resource and name
};

}  // namespace berth::controllers::install
