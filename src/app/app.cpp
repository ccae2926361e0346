#include "app/app.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "app/leader_address.h"
#include "app/modules.h"
#include "app/webhook_metrics.h"
#include "base/log.h"
#include "controllers/install/reconcile.h"
#include "kube/admission/key_keeper.h"
#include "kube/admission/router.h"
#include "kube/runtime/fenced_transport.h"
#include "kube/runtime/manager.h"

namespace berth::app {
namespace {

constexpr Duration kCertificateCheckPeriod = std::chrono::minutes{10};
constexpr Duration kKeyCheckPeriod = std::chrono::minutes{10};
static_assert(kKeyCheckPeriod * 4 < kube::kKeyAnnouncement, "replicas must know a key in time");

// Why the start has not come far yet; empty when it has.
class StartNote {
 public:
  void set(std::string why) {
    const MutexLock lock(mu_);
    why_ = std::move(why);
  }
  std::string get() const {
    const MutexLock lock(mu_);
    return why_;
  }

 private:
  mutable Mutex mu_;
  std::string why_ GUARDED_BY(mu_) = "not prepared yet";
};

// What was spoken of last: many ask.
class LastWord {
 public:
  bool is_new(const std::string& text) {
    const MutexLock lock(mu_);
    return std::exchange(text_, text) != text;
  }

 private:
  Mutex mu_;
  std::string text_ GUARDED_BY(mu_);
};

// Of the certificate that all replicas share.
std::string name_in_certificate(const Config& config) {
  return config.webhook_service.empty()
             ? config.webhook_address
             : fmt::format("{}.{}.svc", config.webhook_service, config.ns);
}

kube::CertificateKeeperOptions keeper_options(const Config& config) {
  kube::CertificateKeeperOptions out{
      .secret = {config.ns, std::string(controllers::install::kCertificateSecret)}};
  (config.webhook_service.empty() ? out.ip_addresses
                                  : out.dns_names) = {name_in_certificate(config)};
  return out;
}

// Modules that are on. `cmd` has refused names that no module has.
module::Declarations active_modules(std::span<const module::Module> modules, const Config& config) {
  module::Declarations all;
  for (const module::Module& one : modules) all.push_back(one.declare(config));
  return module::without(all, config.without).value_or(all);
}

bool is_on(const module::Declarations& active, const module::Declaration& one) {
  return std::ranges::find(active, one.name, &module::Declaration::name) != active.end();
}

}  // namespace

struct App::Parts {
  using Answer = module::Platform::Answer;

  Parts(Tasks& t, net::Transport& transport, std::shared_ptr<const kube::ClusterConfig> cluster,
        Config c, lb::Drivers all_drivers, Random random, std::span<const module::Module> modules)
      : tasks(t),
        config(std::move(c)),
        active(active_modules(modules, config)),
        drivers(std::move(all_drivers)),
        fenced(transport, [this] { return may_write(); }),
        client(transport, cluster, {.registry = &registry}),
        leader_client(fenced, std::move(cluster), {.registry = &registry}),
        caches(tasks, client, manager, active, random.fork(), registry),
        sealer([this] { return ring(); }),
        router(tasks, registry, &paths),
        keeper(client, keeper_options(config)),
        keys(client, {.secret = {config.ns, std::string(controllers::install::kKeysSecret)}}),
        elector(client,
                {.ns = config.ns,
                 .identity = config.identity,
                 .lease_duration = config.lease_duration,
                 .renew_deadline = config.renew_deadline,
                 .retry_period = config.lease_retry_period,
                 .notice = [this] { return notice(); },
                 .on_answer_again = [this] { keys.demand_new_path(); },
                 .nobody_led_until = [this] { return nobody_led_until.load(); },
                 .registry = &registry},
                random.fork()),
        installer(
            tasks, client,
            {.webhooks = {},
             .identity = config.user,
             .modules = active,
             .without = config.without,
             .guard = config.guard},
            [this] { return ca_bundle(); },
            [this] { return upgrading ? std::string() : paths.segment(); }, random.fork(),
            &registry),
        health(registry),
        events(tasks, client, "berth", registry),
        platform{.tasks = tasks,
                 .config = config,
                 .drivers = drivers,
                 .registry = registry,
                 .client = client,
                 .leader_client = leader_client,
                 .caches = caches,
                 .manager = manager,
                 .events = events,
                 .sealer = sealer,
                 .courtesy = courtesy,
                 .random = random.fork(),
                 .may_write = [this] { return may_write(); }} {
    for (const module::Module& one : modules)
      if (is_on(active, one.declare(config))) running.push_back(one.build(platform));
    for (module::Platform::Route& route : platform.routes)
      add_route(route.path, std::move(route.handler));
    for (module::Server& one : module::servers_of(active)) {
      const auto found = std::ranges::find(platform.answers, one.name, &Answer::server);
      if (found != platform.answers.end()) servers.push_back({std::move(one), found->handler});
    }
    for (const std::string& flaw : flaws()) log_error("a module is not sound", {{"flaw", flaw}});
    add_health();
    installer.add_to(manager);
    // What cannot be installed now is tried again by its controller, or must not be: the removal of
    // Berth needs a leader, too.
    manager.before_lead([this](const Context& context) {
      if (const Result<> done = installer.install(context); !done)
        log_warn("not everything is installed", {{"error", done.error().to_string()}});
    });
    // Who led before, we or another, may have been away.
    manager.on_lead([this](const Context&) -> Result<> {
      keys.demand_new_path();
      return {};
    });
    if (config.elect_leader) manager.lead_with(elector);
  }
  // Front ends stand on the core.
  ~Parts() {
    while (!running.empty()) running.pop_back();
  }

  // What modules run, beside what they declare.
  std::vector<std::string> flaws() const {
    std::vector<std::string> out;
    for (const std::string& kind : caches.undeclared())
      out.push_back(kind + " are read, and no module says so");
    std::vector<module::Webhook> hooks = module::webhooks_of(active, true);
    std::ranges::move(module::webhooks_of(active, false), std::back_inserter(hooks));
    const auto& routes = platform.routes;
    for (const module::Webhook& hook : hooks)
      if (std::ranges::find(routes, hook.path, &module::Platform::Route::path) == routes.end())
        out.push_back(hook.path + " is declared, and nobody answers there");
    for (const module::Platform::Route& route : routes)
      if (std::ranges::find(hooks, route.path, &module::Webhook::path) == hooks.end())
        out.push_back(route.path + " is answered, and no module declares it");
    const auto declared = module::servers_of(active);
    for (const module::Server& one : declared)
      if (std::ranges::find(platform.answers, one.name, &Answer::server) == platform.answers.end())
        out.push_back("server " + one.name + " is declared, and nobody answers there");
    for (const Answer& one : platform.answers)
      if (std::ranges::find(declared, one.server, &module::Server::name) == declared.end())
        out.push_back("server " + one.server + " is answered, and no module declares it");
    return out;
  }

  // While we are being removed, everything passes as it will when we are gone.
  void add_route(const std::string& path, kube::AdmissionHandler handler) {
    auto while_wanted =
        [this, handler = std::move(handler)](
            const Context& context,
            const kube::AdmissionRequest& request) -> Result<kube::AdmissionAnswer> {
      if (!installer.is_being_removed()) return handler(context, request);
      return kube::AdmissionAnswer{
          .warnings = {"Berth is being removed from this cluster and gives no ports any more"}};
    };
    router.add(path, timed(registry, path, std::move(while_wanted)));
  }

  void add_health() {
    health.live_when("ping", [] { return std::string(); });
    health.ready_when("start", [this] { return start_note.get(); });
    health.ready_when("caches", [this] { return manager.ready() ? "" : caches_note(); });
    health.ready_when("certificate",
                      [this] { return keeper.current() ? "" : std::string("not made yet"); });
  }

  std::string caches_note() const {
    const std::string missing = manager.missing_cache();
    return missing.empty() ? "not synced yet" : fmt::format("{} not synced yet", missing);
  }

  // Whoever leads has passed the Secret that we made just now, and whoever has led has installed
  // webhooks: without them nobody leads before a whole lease duration after the Secret, but us.
  Result<> look_for_former_leaders(const Context& context) {
    if (keeper.made_at() == Instant::min()) return {};
    const Result<wire::Value> hooks =
        client.get(context, kube::types::kMutatingWebhookConfiguration,
                   {"", std::string(controllers::install::kManagedBy)});
    if (!hooks && hooks.error().code != Code::not_found) return fail(hooks.error());
    if (!hooks) nobody_led_until = saturating_add(keeper.made_at(), config.lease_duration);
    return {};
  }

  // Webhooks whose configuration was made by the version before are called without a secret. It is
  // moved when replicas of that version have had time to go.
  void look_at_paths(const Context& context, bool just_started) {
    const Result<wire::Value> found =
        client.get(context, kube::types::kMutatingWebhookConfiguration,
                   {"", std::string(controllers::install::kManagedBy)});
    if (!found && found.error().code != Code::not_found) return;
    const bool plain = found && controllers::install::has_plain_paths(*found, active);
    paths.allow_plain(plain);
    upgrading = plain && just_started;
    // Whoever runs this for the first time follows somebody who may have been away: API servers
    // print addresses that do not answer.
    if (found && just_started) keys.demand_new_path();
    if (plain && !just_started) installer.refresh();
  }

  std::string ca_bundle() const {
    const auto certificate = keeper.current();
    return certificate ? certificate->ca_bundle : std::string();
  }
  std::shared_ptr<const crypto::KeyRing> ring() const {
    const auto rings = keys.current();
    return rings ? std::shared_ptr<const crypto::KeyRing>(rings, &rings->seals) : nullptr;
  }
  // Of the leader to others, on its Lease.
  std::string notice() const {
    const auto known = ring();
    if (own_address.empty() || !known) return "";
    return sealed_notice(*known, config.ns, config.identity, own_address);
  }
  bool may_write() const { return !config.elect_leader || elector.may_write(tasks.now()); }

  Tasks& tasks;
  const Config config;
  const module::Declarations active;
  const lb::Drivers drivers;
  metrics::Registry registry;
  kube::FencedTransport fenced;
  kube::Client client;         // for what every replica does
  kube::Client leader_client;  // for what only the leader may write
  kube::Manager manager;
  module::Caches caches;
  claims::Courtesy courtesy;
  claims::Sealer sealer;
  kube::PathGuard paths;
  // API servers call us at paths without a secret, and replicas of the version before answer them.
  std::atomic<bool> upgrading = false;
  kube::AdmissionRouter router;
  kube::CertificateKeeper keeper;
  kube::KeyKeeper keys;
  std::atomic<Instant> nobody_led_until{Instant::min()};
  kube::LeaderElector elector;
  controllers::install::Installer installer;
  StartNote start_note;
  kube::Health health;
  kube::EventRecorder events;
  module::Platform platform;
  std::vector<ModuleServer> servers;
  std::string own_address;
  LastWord doubted;
  std::vector<std::shared_ptr<void>> running;  // what modules built, the core first
  std::function<void(const kube::WebhookCertificate&)> on_certificate;
};

App::App(Tasks& tasks, net::Transport& transport,
         std::shared_ptr<const kube::ClusterConfig> cluster, Config config, lb::Drivers drivers,
         Random random, std::span<const module::Module> modules)
    : parts_(std::make_unique<Parts>(tasks, transport, std::move(cluster), std::move(config),
                                     std::move(drivers), random, modules)) {
  parts_->keeper.on_change([this](const kube::WebhookCertificate& certificate) {
    if (parts_->on_certificate) parts_->on_certificate(certificate);
    parts_->installer.refresh();
  });
  parts_->keys.on_change([this](const kube::KeyRings& rings) {
    parts_->paths.use(rings.paths);
    parts_->installer.refresh();
    for (const auto& step : parts_->platform.on_keys) step();
  });
}

App::~App() = default;

Result<> App::prepare(const Context& context) {
  Result<> prepared = parts_->installer.check_wanted(context);
  if (prepared) prepared = parts_->keeper.ensure(context);
  if (prepared) parts_->look_at_paths(context, true);
  if (prepared) prepared = parts_->keys.ensure(context);
  if (prepared) prepared = parts_->look_for_former_leaders(context);
  if (prepared) prepared = parts_->installer.install(context);
  parts_->start_note.set(prepared ? ""
                                  : "waiting for the API server: " + prepared.error().to_string());
  return prepared;
}

std::shared_ptr<const kube::WebhookCertificate> App::certificate() const {
  return parts_->keeper.current();
}

void App::on_certificate(std::function<void(const kube::WebhookCertificate&)> callback) {
  parts_->on_certificate = std::move(callback);
}

void App::set_webhook_address(controllers::install::WebhookAddress address) {
  parts_->installer.set_webhook_address(std::move(address));
}

void App::on_deposed(std::function<void(const Context&)> step) {
  parts_->manager.on_deposed(std::move(step));
}

Result<> App::run(const Context& outer) {
  std::stop_source leaving;  // because we were stopped, or are being removed
  const std::stop_callback forward(outer.stop, [&leaving] { leaving.request_stop(); });
  Context context = outer;
  context.stop = leaving.get_token();
  parts_->installer.on_leave([leaving]() mutable { leaving.request_stop(); });
  parts_->installer.add_guard_to(parts_->manager);
  const auto beside = [&context](std::stop_token stop) {
    Context own = context;
    own.stop = std::move(stop);
    return own;
  };
  const auto keeper = context.tasks.spawn("certificate", [&](std::stop_token stop) {
    parts_->keeper.keep(beside(std::move(stop)), kCertificateCheckPeriod);
  });
  const auto keys = context.tasks.spawn("keys", [&](std::stop_token stop) {
    const Context own = beside(std::move(stop));
    while (sleep_for(own.tasks, kKeyCheckPeriod, own.stop)) {
      if (Result<> ensured = parts_->keys.ensure(own); !ensured)
        log_warn("keys not checked", {{"error", ensured.error().to_string()}});
      parts_->look_at_paths(own, false);
    }
  });
  const auto events = context.tasks.spawn(
      "events", [&](std::stop_token stop) { parts_->events.write_all(beside(std::move(stop))); });
  std::vector<std::unique_ptr<Task>> of_modules;
  for (const module::Platform::Beside& one : parts_->platform.beside) {
    of_modules.push_back(context.tasks.spawn(
        one.name, [&](std::stop_token stop) { one.body(beside(std::move(stop))); }));
  }
  return parts_->manager.run(context);
}

std::string App::webhook_path(std::string_view path) const {
  return fmt::format("{}/{}", path, parts_->paths.segment());
}

net::Reply App::admit(const net::Request& request, std::stop_token stop) {
  return parts_->router.handle(request, std::move(stop));
}

net::Reply App::turn_away() { return parts_->router.turn_away(); }

kube::Health& App::health() { return parts_->health; }
metrics::Registry& App::registry() { return parts_->registry; }
const std::vector<ModuleServer>& App::servers() const { return parts_->servers; }
void App::set_own_address(std::string address) { parts_->own_address = std::move(address); }
std::string App::certificate_name() const { return name_in_certificate(parts_->config); }
std::shared_ptr<const crypto::KeyRing> App::keys() const { return parts_->ring(); }

Result<std::string> App::leader_address() const {
  const kube::LeaseHolder holder = parts_->elector.holder();
  const auto ring = parts_->ring();
  if (holder.identity.empty() || !ring) return fail(Code::unavailable, "no replica leads");
  if (holder.identity == parts_->config.identity)
    return fail(Code::unavailable, "this replica has just begun to lead, or ceases to");
  Result<std::string> address = address_in(*ring, parts_->config.ns, holder);
  if (!address && address.error().code == Code::forbidden && parts_->doubted.is_new(holder.notice))
    log_warn("what the Lease says of the leader is not sealed by it",
             {{"holder", holder.identity}, {"notice", holder.notice}});
  return address;
}

std::vector<std::string> App::flaws() const { return parts_->flaws(); }
bool App::leading() const { return parts_->manager.leading() && parts_->may_write(); }

}  // namespace berth::app
