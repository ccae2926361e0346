#include "modules/port_pools/module.h"

#include "admission/hints.h"
#include "admission/namespaces.h"
#include "admission/pod_ports.h"
#include "admission/pool_rules.h"
#include "admission/port_pools.h"
#include "admission/refusal_event.h"
#include "admission/refused_owners.h"
#include "admission/webhooks.h"
#include "api/decode.h"
#include "claims/claimer.h"
#include "claims/pod_seal.h"
#include "controllers/portpool/bindings.h"
#include "controllers/portpool/pod_index.h"
#include "controllers/portpool/pools.h"
#include "controllers/portpool/sweep.h"
#include "modules/port_pools/pool_metrics.h"

namespace berth::modules::port_pools {
namespace {

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

struct Parts {
  explicit Parts(module::Platform& p)
      : tasks(p.tasks),
        config(p.config),
        drivers(p.drivers),
        sealer(p.sealer),
        events(p.events),
        listeners(p.core->listeners.store()),
        pods(p.caches.of(kube::pod_projection).store()),
        pools(p.caches.of(api::port_pool_projection).store()),
        bindings(p.caches.of(api::port_binding_projection).store()),
        caches{pools, listeners, p.core->balancers.store(), p.core->blocks.store(), bindings, pods},
        slots(listeners, pools,
              [this](const api::Listener& listener) {
                return sealer.judge(listener) == claims::Trust::ours;
              }),
        tokens(p.random.fork()),
        sightings(tasks, listeners),
        claimer(p.client, listeners, slots, sightings, p.random.fork(),
                {.lowest_first = [&manager = p.manager] { return manager.leading(); }}),
        leader_claimer(p.leader_client, listeners, slots, sightings, p.random.fork(), {}),
        refused(tasks, p.client, slots, &p.registry),
        known_namespaces(p.client, p.caches.of(kube::namespace_projection).store()),
        tenants(listeners),
        pool_rules(pools, known_namespaces, tenants,
                   [this](const std::string& token) {
                     return !pods.by_index(controllers::portpool::kTokenPodIndex, token).empty();
                   }),
        pod_ports(
            claimer, p.courtesy, pools, known_namespaces, pool_rules, config.max_keep,
            [this] { return tokens.next(tasks.wall_time()); },
            [this](const ledger::Claim& claim, const std::vector<api::PortBindingItem>& told) {
              const auto ring = sealer.ring();
              return ring ? claims::seal_ports(*ring, {claim.token, claim.ns, told}, claim.request)
                          : std::string();
            },
            [this](const wire::Value& pod, const std::string& ns,
                   const std::vector<kube::ObjectKey>& full) { refused.note(pod, ns, full); }),
        gate(
            listeners, {p.core->grantor.book(), listeners}, p.core->resolver,
            [this](const model::LoadBalancerRef& lb) { return drivers.of(lb) != nullptr; },
            config.refuse_taken_ports ? admission::PortPoolGate::Taken::refused
                                      : admission::PortPoolGate::Taken::waited_for),
        pool_controller(tasks, p.leader_client, caches, p.core->keeper, sealer, p.core->resolver,
                        events, config.load_balancers, &p.registry),
        binding_controller(
            tasks, p.leader_client, caches, leader_claimer, sealer, events,
            {.quarantine = config.quarantine,
             .max_keep = config.max_keep,
             .may_write = p.may_write,
             .on_ready = [this](Duration waited) { metrics.pod_became_ready(waited); },
             .on_likely =
                 [expect = p.core->expect](const api::Listener& listener) {
                   expect(listener, engine::Notice::likely);
                 },
             .on_write =
                 [expect = p.core->expect](const api::Listener& listener) {
                   expect(listener, engine::Notice::written);
                 }},
            &p.registry),
        sweeper(tasks, p.leader_client, caches, leader_claimer,
                {.quarantine = config.quarantine,
                 .claim_lifetime = config.claim_lifetime,
                 .may_write = p.may_write},
                &p.registry),
        metrics(p.registry, slots, pools, bindings) {
    controllers::portpool::add_pod_indexes(pods);
    slots.on_room([this](const kube::ObjectKey& pool) { refused.on_room(pool); });
    add_to_core(*p.core);
    add_routes(p);
    refused.add_to(p.manager);
    pool_controller.add_to(p.manager);
    binding_controller.add_to(p.manager);
    sweeper.add_to(p.manager);
    p.manager.on_lead([this](const Context&) -> Result<> {
      refused.look_for_forgotten();  // the leader before us may be gone for good
      return {};
    });
    p.on_keys.emplace_back([this] {
      slots.refresh();
      pool_controller.look_at_all();  // their Listeners may want another seal
      // So may Pods, which are many; keys of paths, which change every day, are nothing to them.
      if (seals_have_changed()) binding_controller.look_at_all();
    });
  }

  // Since it was asked last, by the one task that brings keys.
  bool seals_have_changed() {
    const auto ring = sealer.ring();
    std::string ids;
    for (const crypto::Key& key : ring ? ring->keys() : std::vector<crypto::Key>{})
      ids += key.id + (key.id == ring->signer() ? "* " : " ");
    return std::exchange(seal_keys, ids) != ids;
  }

  void add_to_core(module::Core& core) {
    core.vouchers.emplace(claims::kPoolOwner, [this](const api::Listener& listener) {
      return controllers::portpool::check_targets(listener, pods);
    });
    core.on_name.emplace_back(
        [this](const model::LoadBalancerRef& named) { pool_controller.look_at_those_with(named); });
  }

  void add_routes(module::Platform& p) {
    using kube::AdmissionAnswer;
    using kube::AdmissionRequest;
    const auto add = [&p](std::string_view path, kube::AdmissionHandler handler) {
      p.routes.push_back({std::string(path), std::move(handler)});
    };
    add(admission::kPodPortsPath, [this](const Context& context, const AdmissionRequest& request) {
      return admit_pod(context, request);
    });
    add(admission::kPortPoolsPath,
        [this](const Context&, const AdmissionRequest& request) { return gate.admit(request); });
    add(admission::kTemplateHintPath,
        [](const Context&, const AdmissionRequest& request) -> Result<AdmissionAnswer> {
          return admission::hint_template(request);
        });
    add(admission::kNamespaceHintPath,
        [](const Context&, const AdmissionRequest& request) -> Result<AdmissionAnswer> {
          return admission::hint_namespace(request);
        });
  }

  Result<kube::AdmissionAnswer> admit_pod(const Context& context,
                                          const kube::AdmissionRequest& request) {
    Result<kube::AdmissionAnswer> answer = pod_ports.admit(context, request);
    metrics.pod_was_admitted(request, answer.has_value());
    if (answer) return answer;
    if (auto event = admission::refusal_event(request, answer.error()))
      events.record(std::move(*event));
    return answer;
  }

  Tasks& tasks;
  const module::Config& config;
  const lb::Drivers& drivers;
  const claims::Sealer& sealer;
  kube::EventRecorder& events;
  claims::ListenerStore& listeners;
  kube::Store<kube::Pod>& pods;
  kube::Store<api::PortPool>& pools;
  kube::Store<api::PortBinding>& bindings;
  const controllers::portpool::Caches caches;
  claims::SlotIndex slots;
  TokenSource tokens;
  claims::Sightings sightings;
  claims::Claimer claimer;         // of the webhook
  claims::Claimer leader_claimer;  // of controllers
  admission::RefusedOwners refused;
  admission::Namespaces known_namespaces;
  claims::Tenants tenants;
  admission::PoolRules pool_rules;
  admission::PodPorts pod_ports;
  admission::PortPoolGate gate;
  controllers::portpool::PoolController pool_controller;
  controllers::portpool::BindingController binding_controller;
  controllers::portpool::ClaimSweeper sweeper;
  PoolMetrics metrics;
  std::string seal_keys{};  // ids of those that were there last, with a mark at the one that seals
};

}  // namespace

std::shared_ptr<void> build(module::Platform& platform) {
  return std::make_shared<Parts>(platform);
}

}  // namespace berth::modules::port_pools
