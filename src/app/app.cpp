#include "app/app.h"

#include "admission/host_ports.h"
#include "admission/pod_ports.h"
#include "api/decode.h"
#include "base/encoding.h"
#include "base/log.h"
#include "claims/claimer.h"
#include "controllers/install/reconcile.h"
#include "controllers/portpool/reconcile.h"
#include "kube/admission/router.h"
#include "kube/cache/informer.h"
#include "kube/cache/pod.h"
#include "kube/runtime/manager.h"

namespace berth::app {
namespace {

constexpr Duration kCertificateCheckPeriod = std::chrono::minutes{10};

// Tokens tie a claim to its Pod; they are label values.
class TokenSource {
 public:
  explicit TokenSource(Random random) : random_(random) {}
  std::string next() {
    const MutexLock lock(mu_);
    return fmt::format("{:016x}{:016x}", random_.next(), random_.next());
  }

 private:
  Mutex mu_;
  Random random_ GUARDED_BY(mu_);
};

kube::Projection<kube::Pod> pods_projection() {
  return kube::pod_projection(
      {.labels = kube::KeyFilter::only({std::string(ledger::kTokenLabel)}),
       .annotations = kube::KeyFilter::only(
           {std::string(api::kPoolBindingsAnnotation), std::string(api::kBindStatusAnnotation)}),
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
        Config c, lb::Forwarder& forwarder, Random random)
      : tasks(t),
        config(std::move(c)),
        client(transport, std::move(cluster), {.registry = &registry}),
        pods(tasks, client, pods_projection(), random.fork(), {.registry = &registry}),
        pools(tasks, client, api::port_pool_projection(), random.fork(), {.registry = &registry}),
        listeners(tasks, client, api::listener_projection(), random.fork(),
                  {.registry = &registry}),
        tokens(random.fork()),
        claimer(client, listeners.store(), random.fork()),
        pod_ports(
            claimer, forwarder, [this](const kube::ObjectKey& pool) { return state_of(pool); },
            [this] { return tokens.next(); }),
        host_ports(config.host_ports, random.fork()),
        router(tasks, registry),
        keeper(client, keeper_options(config)),
        elector(client, {.ns = config.ns, .identity = config.identity, .registry = &registry},
                random.fork()),
        installer(
            tasks, client, {.webhooks = {}, .identity = config.user},
            [this] { return ca_bundle(); }, random.fork(), &registry),
        health(registry),
        events(tasks, client, "berth", registry),
        port_pools(
            tasks, client, {pools.store(), listeners.store(), pods.store()}, claimer, forwarder,
            events, [this] { return may_write(); }, &registry) {
    claims::add_indexes(listeners.store());
    controllers::portpool::add_pod_index(pods.store());
    host_ports.follow(pods.store());
    add_routes();
    add_health();
    manager.add(pods.core());
    manager.add(pools.core());
    manager.add(listeners.core());
    port_pools.add_to(manager);
    if (config.elect_leader) manager.lead_with(elector);
  }

  void add_routes() {
    router.add(std::string(controllers::install::kPodPortsPath),
               [this](const Context& context, const kube::AdmissionRequest& request) {
                 return pod_ports.admit(context, request);
               });
    router.add(std::string(controllers::install::kHostPortsPath),
               [this](const Context& context, const kube::AdmissionRequest& request) {
                 return host_ports.admit(context, request);
               });
    router.add(std::string(controllers::install::kPortPoolsPath),
               [](const Context&, const kube::AdmissionRequest& request) {
                 return admission::validate_port_pool(request);
               });
  }

  void add_health() {
    health.live_when("ping", [] { return std::string(); });
    health.ready_when("caches",
                      [this] { return manager.ready() ? "" : std::string("not synced yet"); });
    health.ready_when("certificate",
                      [this] { return keeper.current() ? "" : std::string("not made yet"); });
  }

  admission::PodPorts::PoolState state_of(const kube::ObjectKey& key) const {
    using State = admission::PodPorts::PoolState;
    const auto pool = pools.store().get(key);
    if (!pool) return State::unknown;
    return pool->status.status == api::kReady ? State::ready : State::filling;
  }
  std::string ca_bundle() const {
    const auto certificate = keeper.current();
    return certificate ? certificate->ca_bundle : std::string();
  }
  bool may_write() const { return !config.elect_leader || elector.may_write(tasks.now()); }

  Tasks& tasks;
  const Config config;
  metrics::Registry registry;
  kube::Client client;
  kube::Informer<kube::Pod> pods;
  kube::Informer<api::PortPool> pools;
  kube::Informer<api::Listener> listeners;
  TokenSource tokens;
  claims::Claimer claimer;
  admission::PodPorts pod_ports;
  admission::HostPorts host_ports;
  kube::AdmissionRouter router;
  kube::CertificateKeeper keeper;
  kube::LeaderElector elector;
  controllers::install::Installer installer;
  kube::Health health;
  kube::EventRecorder events;
  controllers::portpool::PortPoolControllers port_pools;
  kube::Manager manager;
  std::function<void(const kube::WebhookCertificate&)> on_certificate;
};

App::App(Tasks& tasks, net::Transport& transport,
         std::shared_ptr<const kube::ClusterConfig> cluster, Config config,
         lb::Forwarder& forwarder, Random random)
    : parts_(std::make_unique<Parts>(tasks, transport, std::move(cluster), std::move(config),
                                     forwarder, random)) {
  parts_->keeper.on_change([this](const kube::WebhookCertificate& certificate) {
    if (parts_->on_certificate) parts_->on_certificate(certificate);
    parts_->installer.refresh();
  });
}

App::~App() = default;

Result<> App::prepare(const Context& context) {
  if (Result<> ensured = parts_->keeper.ensure(context); !ensured) return ensured;
  return parts_->installer.install(context);
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

Result<> App::run(const Context& context) {
  parts_->installer.add_to(parts_->manager);
  const auto beside = [&context](std::stop_token stop) {
    Context own = context;
    own.stop = std::move(stop);
    return own;
  };
  const auto keeper = context.tasks.spawn("certificate", [&](std::stop_token stop) {
    parts_->keeper.keep(beside(std::move(stop)), kCertificateCheckPeriod);
  });
  const auto events = context.tasks.spawn(
      "events", [&](std::stop_token stop) { parts_->events.write_all(beside(std::move(stop))); });
  return parts_->manager.run(context);
}

net::Reply App::admit(const net::Request& request, std::stop_token stop) {
  return parts_->router.handle(request, std::move(stop));
}

kube::Health& App::health() { return parts_->health; }
bool App::leading() const { return parts_->manager.leading(); }

}  // namespace berth::app
