#include "app/app.h"

#include <atomic>
#include <set>

#include "admission/hints.h"
#include "admission/host_ports.h"
#include "admission/namespaces.h"
#include "admission/pod_ports.h"
#include "admission/pool_rules.h"
#include "admission/port_pools.h"
#include "admission/refusal_event.h"
#include "admission/refused_owners.h"
#include "api/decode.h"
#include "app/pool_metrics.h"
#include "base/encoding.h"
#include "base/log.h"
#include "claims/claimer.h"
#include "claims/grantor.h"
#include "controllers/install/reconcile.h"
#include "controllers/listener/reconcile.h"
#include "controllers/loadbalancer/name_book.h"
#include "controllers/loadbalancer/reconcile.h"
#include "controllers/portpool/bindings.h"
#include "controllers/portpool/pod_index.h"
#include "controllers/portpool/pools.h"
#include "controllers/portpool/sweep.h"
#include "kube/admission/key_keeper.h"
#include "kube/admission/router.h"
#include "kube/cache/informer.h"
#include "kube/cache/pod.h"
#include "kube/runtime/fenced_transport.h"
#include "kube/runtime/manager.h"

namespace berth::app {
namespace {

constexpr Duration kCertificateCheckPeriod = std::chrono::minutes{10};
constexpr Duration kKeyCheckPeriod = std::chrono::minutes{10};
static_assert(kKeyCheckPeriod * 4 < kube::kKeyAnnouncement, "replicas must know a key in time");

// Tokens tie a claim to its Pod; they are label values.
class TokenSource {
 public:
  explicit TokenSource(Random random) : random_(random) {}
  std::string next(WallTime now) {
    const MutexLock lock(mu_);
    const std::uint64_t high = random_.next();
    return ledger::make_token(now, high, random_.next());
  }

 private:
  Mutex mu_;
  Random random_ GUARDED_BY(mu_);
};

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

kube::Projection<kube::Pod> pods_projection() {
  return kube::pod_projection(
      {.labels = kube::KeyFilter::only({std::string(ledger::kTokenLabel)}),
       .annotations = kube::KeyFilter::only(
           {std::string(api::kPortPoolsAnnotation), std::string(api::kPoolBindingsAnnotation),
            std::string(claims::kPortsSealAnnotation), std::string(api::kBindStatusAnnotation),
            std::string(api::kKeepDurationAnnotation)}),
       .owners = false});
}

kube::CertificateKeeperOptions keeper_options(const Config& config) {
  kube::CertificateKeeperOptions out{
      .secret = {config.ns, std::string(controllers::install::kCertificateSecret)}};
  if (config.webhook_service.empty()) {
    out.ip_addresses = {config.webhook_address};
  } else {
    out.dns_names = {fmt::format("{}.{}.svc", config.webhook_service, config.ns)};
  }
  return out;
}

}  // namespace

struct App::Parts {
  Parts(Tasks& t, net::Transport& transport, std::shared_ptr<const kube::ClusterConfig> cluster,
        Config c, lb::Drivers all_drivers, Random random)
      : tasks(t),
        config(std::move(c)),
        drivers(std::move(all_drivers)),
        fenced(transport, [this] { return may_write(); }),
        client(transport, cluster, {.registry = &registry}),
        leader_client(fenced, std::move(cluster), {.registry = &registry}),
        pods(tasks, client, pods_projection(), random.fork(), {.registry = &registry}),
        namespaces(tasks, client, kube::namespace_projection({.owners = false}), random.fork(),
                   {.registry = &registry}),
        pools(tasks, client, api::port_pool_projection(), random.fork(), {.registry = &registry}),
        listeners(tasks, client, api::listener_projection(), random.fork(),
                  {.registry = &registry}),
        balancers(tasks, client, api::load_balancer_projection(), random.fork(),
                  {.registry = &registry}),
        bindings(tasks, client, api::port_binding_projection(), random.fork(),
                 {.registry = &registry}),
        slots(listeners.store(), pools.store(),
              [this](const api::Listener& listener) {
                return sealer.judge(listener) == claims::Trust::ours;
              }),
        tokens(random.fork()),
        sightings(tasks, listeners.store()),
        claimer(client, listeners.store(), slots, sightings, random.fork(),
                {.lowest_first = [this] { return manager.leading(); }}),
        leader_claimer(leader_client, listeners.store(), slots, sightings, random.fork(), {}),
        sealer([this]() -> std::shared_ptr<const crypto::KeyRing> {
          const auto rings = keys.current();
          return rings ? std::shared_ptr<const crypto::KeyRing>(rings, &rings->seals) : nullptr;
        }),
        grantor(leader_client, balancers.store(), listeners.store(), sealer),
        resolver(balancers.store(), listeners.store(), sealer, config.load_balancers,
                 [this](const model::LoadBalancerRef& named) { return names.ask(named); }),
        refused(tasks, client, slots, &registry),
        known_namespaces(client, namespaces.store()),
        tenants(listeners.store()),
        pool_rules(
            pools.store(), known_namespaces, tenants,
            [this](const std::string& token) {
              return !pods.store().by_index(controllers::portpool::kTokenPodIndex, token).empty();
            }),
        pod_ports(
            claimer, courtesy, pools.store(), known_namespaces, pool_rules, config.max_keep,
            [this] { return tokens.next(tasks.wall_time()); },
            [this](const ledger::Claim& claim, const std::vector<api::PortBindingItem>& told) {
              const auto ring = sealer.ring();
              return ring ? claims::seal_ports(*ring, {claim.token, claim.ns, told}, claim.request)
                          : std::string();
            },
            [this](const wire::Value& pod, const std::string& ns,
                   const std::vector<kube::ObjectKey>& full) { refused.note(pod, ns, full); }),
        port_pool_gate(
            listeners.store(), config.load_balancers,
            [this](const model::LoadBalancerRef& lb) { return drivers.of(lb) != nullptr; }),
        host_ports(config.host_ports, random.fork()),
        router(tasks, registry, &paths),
        keeper(client, keeper_options(config)),
        keys(client, {.secret = {config.ns, std::string(controllers::install::kKeysSecret)}}),
        elector(client,
                {.ns = config.ns,
                 .identity = config.identity,
                 .lease_duration = config.lease_duration,
                 .renew_deadline = config.renew_deadline,
                 .retry_period = config.lease_retry_period,
                 .nobody_led_until = [this] { return nobody_led_until.load(); },
                 .registry = &registry},
                random.fork()),
        installer(
            tasks, client,
            {.webhooks = {},
             .identity = config.user,
             .host_ports = config.host_ports,
             .guard = config.guard},
            [this] { return ca_bundle(); },
            [this] { return upgrading ? std::string() : paths.segment(); }, random.fork(),
            &registry),
        health(registry),
        events(tasks, client, "berth", registry),
        listener_controller(
            tasks, leader_client, listeners.store(), balancers.store(), sealer, courtesy, events,
            {.naming = naming(),
             .check_targets =
                 [this](const api::Listener& listener) {
                   return controllers::portpool::check_targets(listener, pods.store());
                 }},
            &registry),
        engine(
            tasks, drivers, [this](const model::LoadBalancerRef& lb) { return standing(lb); },
            listener_controller, [this] { return may_write() && manager.leading(); }, random.fork(),
            {.name_prefix = naming().prefix(), .registry = &registry}),
        names(tasks, drivers,
              [this](const model::LoadBalancerRef& named) {
                pool_controller.look_at_those_with(named);
              }),
        balancer_controller(tasks, leader_client, balancers.store(), listeners.store(),
                            config.load_balancers, drivers, engine, &registry),
        pool_controller(tasks, leader_client, caches(), leader_claimer, grantor, sealer, courtesy,
                        resolver, events, config.load_balancers, &registry),
        binding_controller(
            tasks, leader_client, caches(), leader_claimer, sealer, events,
            {.quarantine = config.quarantine,
             .max_keep = config.max_keep,
             .may_write = [this] { return may_write(); },
             .on_ready = [this](Duration waited) { pool_metrics.pod_became_ready(waited); }},
            &registry),
        sweeper(tasks, leader_client, caches(), leader_claimer,
                {.quarantine = config.quarantine,
                 .claim_lifetime = config.claim_lifetime,
                 .may_write = [this] { return may_write(); }},
                &registry),
        pool_metrics(registry, slots, pools.store(), listeners.store(), bindings.store(),
                     {.version = config.version,
                      .cloud = std::string(model::to_string(config.load_balancers.provider)),
                      .health =
                          [this](const model::LoadBalancerRef& lb) {
                            const lb::Driver* const driver = drivers.of(lb);
                            return driver && driver->health ? driver->health->last(lb)
                                                            : std::vector<lb::TargetHealth>{};
                          },
                      .defaults = config.load_balancers}) {
    claims::add_indexes(listeners.store(), config.load_balancers);
    claims::add_indexes(balancers.store());
    controllers::portpool::add_pod_indexes(pods.store());
    slots.on_room([this](const kube::ObjectKey& pool) { refused.on_room(pool); });
    host_ports.follow(pods.store());
    listener_controller.use(engine);
    add_routes();
    add_health();
    add_to_manager();
    // What cannot be installed now is tried again by its controller, or must not be: the removal of
    // Berth needs a leader, too.
    manager.before_lead([this](const Context& context) {
      if (const Result<> done = installer.install(context); !done)
        log_warn("not everything is installed", {{"error", done.error().to_string()}});
    });
    manager.on_lead([this](const Context&) -> Result<> {
      refused.look_for_forgotten();  // the leader before us may be gone for good
      return {};
    });
    if (config.elect_leader) manager.lead_with(elector);
  }

  controllers::portpool::Caches caches() {
    return {pools.store(), listeners.store(), balancers.store(), bindings.store(), pods.store()};
  }

  controllers::listener::Naming naming() const {
    return {config.load_balancers, config.cluster_id};
  }

  // All wishes are known once every cache was listed at its latest state under our lease: what a
  // former leader wrote is in them, and what was made since, we made. A load balancer with grants
  // and without a single Listener is a pool that is being made, or one whose Listeners we look for
  // in the wrong place.
  engine::Standing standing(const model::LoadBalancerRef& lb) {
    engine::Standing out{.wishes = listener_controller.wishes_for(lb)};
    const std::string name = model::object_name(lb);
    const auto object = balancers.store().get({"", name});
    const bool granted = object && !object->spec.grants.empty();
    const bool used = !listeners.store().by_index(claims::kBalancerIndex, name).empty();
    // An edge load balancer lives in this process; others may be shared with clusters that have the
    // default id too.
    const bool ours_alone =
        lb.provider == model::Provider::edge || config.cluster_id != kDefaultClusterId;
    // One that we cannot read wishes for something, too.
    const bool all_read = listeners.undecodable() == 0;
    out.complete = ours_alone && all_read && manager.leading() && (!granted || used);
    return out;
  }

  // One driver may serve several providers.
  std::set<lb::HealthFeed*> health_feeds() const {
    std::set<lb::HealthFeed*> out;
    for (const auto& [provider, driver] : drivers.all())
      if (driver.health) out.insert(driver.health);
    return out;
  }

  // The load balancers that this feed looks at for metrics. Followers ask nobody.
  std::vector<lb::Place> places_of(const lb::HealthFeed& feed) {
    std::vector<lb::Place> out;
    if (!manager.leading()) return out;
    for (const auto& object : balancers.store().all()) {
      const Result<model::LoadBalancerRef> ref = claims::ref_of(*object);
      const lb::Driver* const driver = ref ? drivers.of(*ref) : nullptr;
      if (driver && driver->health == &feed) out.emplace_back(*ref);
    }
    return out;
  }

  void add_to_manager() {
    manager.add(pods.core());
    manager.add(namespaces.core());
    manager.add(pools.core());
    manager.add(listeners.core());
    manager.add(balancers.core());
    manager.add(bindings.core());
    refused.add_to(manager);
    listener_controller.add_to(manager);
    balancer_controller.add_to(manager);
    pool_controller.add_to(manager);
    binding_controller.add_to(manager);
    sweeper.add_to(manager);
    installer.add_to(manager);
  }

  void add_routes() {
    add_route(controllers::install::kPodPortsPath,
              [this](const Context& context, const kube::AdmissionRequest& request) {
                return admit_pod(context, request);
              });
    add_route(controllers::install::kHostPortsPath,
              [this](const Context& context, const kube::AdmissionRequest& request) {
                return host_ports.admit(context, request);
              });
    add_route(controllers::install::kPortPoolsPath,
              [this](const Context&, const kube::AdmissionRequest& request) {
                return port_pool_gate.admit(request);
              });
    add_route(
        controllers::install::kTemplateHintPath,
        [](const Context&, const kube::AdmissionRequest& request) -> Result<kube::AdmissionAnswer> {
          return admission::hint_template(request);
        });
    add_route(
        controllers::install::kNamespaceHintPath,
        [](const Context&, const kube::AdmissionRequest& request) -> Result<kube::AdmissionAnswer> {
          return admission::hint_namespace(request);
        });
  }
  // While we are being removed, everything passes as it will when we are gone.
  void add_route(std::string_view path, kube::AdmissionHandler handler) {
    auto while_wanted =
        [this, handler = std::move(handler)](
            const Context& context,
            const kube::AdmissionRequest& request) -> Result<kube::AdmissionAnswer> {
      if (!installer.is_being_removed()) return handler(context, request);
      return kube::AdmissionAnswer{
          .warnings = {"Berth is being removed from this cluster and gives no ports any more"}};
    };
    router.add(std::string(path), pool_metrics.timed(std::string(path), std::move(while_wanted)));
  }

  Result<kube::AdmissionAnswer> admit_pod(const Context& context,
                                          const kube::AdmissionRequest& request) {
    Result<kube::AdmissionAnswer> answer = pod_ports.admit(context, request);
    pool_metrics.pod_was_admitted(request, answer.has_value());
    if (answer) return answer;
    if (auto event = admission::refusal_event(request, answer.error()))
      events.record(std::move(*event));
    return answer;
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
    const bool plain = found && controllers::install::has_plain_paths(*found);
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
  bool may_write() const { return !config.elect_leader || elector.may_write(tasks.now()); }

  Tasks& tasks;
  const Config config;
  const lb::Drivers drivers;
  metrics::Registry registry;
  kube::FencedTransport fenced;
  kube::Client client;         // for what every replica does
  kube::Client leader_client;  // for what only the leader may write
  kube::Informer<kube::Pod> pods;
  kube::Informer<kube::Namespace> namespaces;
  kube::Informer<api::PortPool> pools;
  kube::Informer<api::Listener> listeners;
  kube::Informer<api::LoadBalancer> balancers;
  kube::Informer<api::PortBinding> bindings;
  kube::Manager manager;
  claims::SlotIndex slots;
  TokenSource tokens;
  claims::Courtesy courtesy;
  claims::Sightings sightings;
  claims::Claimer claimer;         // of the webhook
  claims::Claimer leader_claimer;  // of controllers
  claims::Sealer sealer;
  claims::Grantor grantor;
  claims::Resolver resolver;
  admission::RefusedOwners refused;
  admission::Namespaces known_namespaces;
  claims::Tenants tenants;
  admission::PoolRules pool_rules;
  admission::PodPorts pod_ports;
  admission::PortPoolGate port_pool_gate;
  admission::HostPorts host_ports;
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
  controllers::listener::ListenerController listener_controller;
  engine::Engine engine;
  controllers::loadbalancer::NameBook names;
  controllers::loadbalancer::LoadBalancerController balancer_controller;
  controllers::portpool::PoolController pool_controller;
  controllers::portpool::BindingController binding_controller;
  controllers::portpool::ClaimSweeper sweeper;
  PoolMetrics pool_metrics;
  std::function<void(const kube::WebhookCertificate&)> on_certificate;
};

App::App(Tasks& tasks, net::Transport& transport,
         std::shared_ptr<const kube::ClusterConfig> cluster, Config config, lb::Drivers drivers,
         Random random)
    : parts_(std::make_unique<Parts>(tasks, transport, std::move(cluster), std::move(config),
                                     std::move(drivers), random)) {
  parts_->keeper.on_change([this](const kube::WebhookCertificate& certificate) {
    if (parts_->on_certificate) parts_->on_certificate(certificate);
    parts_->installer.refresh();
  });
  parts_->keys.on_change([this](const kube::KeyRings& rings) {
    parts_->paths.use(rings.paths);
    parts_->installer.refresh();
    parts_->slots.refresh();
    // Their Listeners may want another seal.
    parts_->pool_controller.look_at_all();
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
  const auto engine = context.tasks.spawn(
      "engine", [&](std::stop_token stop) { parts_->engine.run(beside(std::move(stop))); });
  std::vector<std::unique_ptr<Task>> feeds;
  for (lb::HealthFeed* const feed : parts_->health_feeds()) {
    feeds.push_back(context.tasks.spawn("health", [&, feed](std::stop_token stop) {
      feed->run(beside(std::move(stop)), [&, feed] { return parts_->places_of(*feed); });
    }));
  }
  const auto describing = context.tasks.spawn("describe", [&](std::stop_token stop) {
    parts_->balancer_controller.run(beside(std::move(stop)));
  });
  const auto names = context.tasks.spawn(
      "names", [&](std::stop_token stop) { parts_->names.run(beside(std::move(stop))); });
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
bool App::leading() const { return parts_->manager.leading() && parts_->may_write(); }

}  // namespace berth::app
