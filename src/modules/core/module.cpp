#include "modules/core/module.h"

#include <set>

#include "api/decode.h"
#include "claims/slot.h"
#include "controllers/listener/reconcile.h"
#include "controllers/loadbalancer/name_book.h"
#include "controllers/loadbalancer/reconcile.h"
#include "modules/core/listener_metrics.h"

namespace berth::modules::core {
namespace {

using model::LoadBalancerRef;

struct Parts {
  explicit Parts(module::Platform& p)
      : config(p.config),
        drivers(p.drivers),
        manager(p.manager),
        listeners(p.caches.of(api::listener_projection)),
        balancers(p.caches.of(api::load_balancer_projection)),
        blocks(p.caches.of(api::port_block_projection)),
        grantor(p.leader_client, balancers.store(), blocks.store(), listeners.store(), p.sealer,
                config.grants),
        keeper({p.leader_client, listeners.store(), grantor, p.sealer, p.courtesy, contenders,
                config.load_balancers, config.ns}),
        resolver(grantor.book(), listeners.store(), p.sealer, config.load_balancers,
                 [this](const LoadBalancerRef& named, std::string_view ns) {
                   return names.ask(named, config.credential_of(named.provider, ns));
                 }),
        listener_controller(
            p.tasks, p.leader_client, listeners.store(), balancers.store(), blocks.store(),
            p.sealer, p.courtesy, p.events,
            {.naming = naming(),
             .check_targets = [this](const api::Listener& one) { return check_targets(one); },
             .credential_of = [this](model::Provider provider,
                                     std::string_view ns) { return credential_of(provider, ns); }},
            &p.registry),
        engine(
            p.tasks, drivers, [this](const LoadBalancerRef& lb) { return standing(lb); },
            listener_controller,
            [this, may_write = p.may_write] { return may_write() && manager.leading(); },
            p.random.fork(),
            {.audit_period = config.audit_period,
             .name_prefix = naming().prefix(),
             .on_look = [this](const LoadBalancerRef& lb) { balancer_controller.look_changed(lb); },
             .registry = &p.registry}),
        names(p.tasks, drivers,
              [this](const LoadBalancerRef& named) {
                for (const auto& step : on_name) step(named);
              }),
        balancer_controller(p.tasks, p.leader_client, balancers.store(), blocks.store(),
                            listeners.store(), grantor, config.load_balancers, drivers, engine,
                            balancer_credentials(), &p.registry),
        metrics(p.registry, listeners.store(),
                {.version = config.version,
                 .cloud = std::string(model::to_string(config.load_balancers.provider)),
                 .health = [this](const LoadBalancerRef& lb) { return health_of(lb); },
                 .defaults = config.load_balancers}) {
    claims::add_indexes(listeners.store(), config.load_balancers);
    claims::add_indexes(balancers.store());
    claims::add_indexes(blocks.store());
    listener_controller.use(engine);
    listener_controller.add_to(manager);
    balancer_controller.add_to(manager);
    add_beside(p);
    p.core.emplace(module::Core{.listeners = listeners,
                                .balancers = balancers,
                                .blocks = blocks,
                                .grantor = grantor,
                                .resolver = resolver,
                                .keeper = keeper,
                                .engine = engine,
                                .vouchers = vouchers,
                                .on_name = on_name,
                                .expect = [this](const api::Listener& one, engine::Notice notice) {
                                  listener_controller.expect(one, notice);
                                }});
  }

  void add_beside(module::Platform& p) {
    p.beside.push_back({"engine", [this](const Context& context) { engine.run(context); }});
    for (lb::HealthFeed* const feed : health_feeds()) {
      p.beside.push_back({"health", [this, feed](const Context& context) {
                            feed->run(context, [this, feed] { return places_of(*feed); });
                          }});
    }
    p.beside.push_back(
        {"describe", [this](const Context& context) { balancer_controller.run(context); }});
    p.beside.push_back({"names", [this](const Context& context) { names.run(context); }});
  }

  controllers::listener::Naming naming() const {
    return {config.load_balancers, config.cluster_id};
  }

  model::CredentialId credential_of(model::Provider provider, std::string_view ns) const {
    return config.credential_of(provider, ns);
  }
  controllers::loadbalancer::CredentialOf balancer_credentials() const {
    if (!config.namespace_credentials) return {};
    return [this](model::Provider provider, std::string_view ns) {
      return credential_of(provider, ns);
    };
  }

  Result<> check_targets(const api::Listener& listener) const {
    if (!claims::has_targets(listener.spec)) return {};
    const auto vouches = vouchers.find(claims::owner_of(listener).kind);
    if (vouches != vouchers.end()) return vouches->second(listener);
    return fail(error_of(Code::forbidden, "no module that is on looks after it")
                    .about("Listener " + listener.meta.key().to_string())
                    .with_hint("see --without of the controller"));
  }

  // All wishes are known once every cache was listed at its latest state under our lease: what a
  // former leader wrote is in them, and what was made since, we made. A load balancer with grants
  // and without a single Listener is a pool that is being made, or one whose Listeners we look for
  // in the wrong place.
  engine::Standing standing(const LoadBalancerRef& lb) {
    engine::Standing out{.wishes = listener_controller.wishes_for(lb)};
    const std::string name = model::object_name(lb);
    const bool granted = grantor.book().has_any(name);
    const bool used = !listeners.store().by_index(claims::kBalancerIndex, name).empty();
    // An edge load balancer lives in this process; others may be shared with clusters that have the
    // default id too.
    const bool ours_alone =
        lb.provider == model::Provider::edge || config.cluster_id != module::kDefaultClusterId;
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

  std::vector<lb::TargetHealth> health_of(const LoadBalancerRef& lb) const {
    const lb::Driver* const driver = drivers.of(lb);
    return driver && driver->health ? driver->health->last(lb) : std::vector<lb::TargetHealth>{};
  }

  // The load balancers that this feed looks at for metrics. Followers ask nobody.
  std::vector<lb::Place> places_of(const lb::HealthFeed& feed) {
    std::vector<lb::Place> out;
    if (!manager.leading()) return out;
    for (const auto& object : balancers.store().all()) {
      const Result<LoadBalancerRef> ref = claims::ref_of(*object);
      const lb::Driver* const driver = ref ? drivers.of(*ref) : nullptr;
      if (!driver || driver->health != &feed) continue;
      for (const model::CredentialId& whose : balancer_controller.credentials_for(*ref))
        out.emplace_back(*ref, whose);
    }
    return out;
  }

  const module::Config& config;
  const lb::Drivers& drivers;
  kube::Manager& manager;
  kube::Informer<api::Listener>& listeners;
  kube::Informer<api::LoadBalancer>& balancers;
  kube::Informer<api::PortBlock>& blocks;
  std::map<std::string, module::Core::TargetCheck, std::less<>> vouchers;  // by kind
  std::vector<module::Core::NameStep> on_name;
  claims::Grantor grantor;
  frontend::Contenders contenders;
  frontend::Keeper keeper;
  claims::Resolver resolver;
  controllers::listener::ListenerController listener_controller;
  engine::Engine engine;
  controllers::loadbalancer::NameBook names;
  controllers::loadbalancer::LoadBalancerController balancer_controller;
  ListenerMetrics metrics;
};

}  // namespace

std::shared_ptr<void> build(module::Platform& platform) {
  return std::make_shared<Parts>(platform);
}

}  // namespace berth::modules::core
