#include "controllers/portpool/reconcile.h"

#include <boost/json.hpp>

#include "api/decode.h"
#include "api/walkers.h"
#include "base/log.h"
#include "controllers/portpool/events.h"

namespace berth::controllers::portpool {
namespace {

using kube::ObjectKey;
using kube::Requeue;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::string_view kTokenPodIndex = "token";
// Slots are worked on side by side; the API server's own limits (priority levels) are what bounds
// them.
constexpr int kSlotWorkers = 4;

std::string annotation_pointer(std::string_view key) {
  return "/metadata/annotations/" + wire::escape_pointer_step(key);
}

lb::Forwarding forwarding_of(const api::Listener& listener, std::string address,
                             model::Protocol protocol) {
  lb::Forwarding out{.address = std::move(address),
                     .protocol = protocol,
                     .port = static_cast<model::Port>(listener.spec.port)};
  if (listener.spec.target_group) {
    for (const api::ListenerBackend& backend : listener.spec.target_group->backends) {
      out.targets.push_back({backend.ip, static_cast<model::Port>(backend.port)});
    }
  }
  return out;
}

// Only while the spec is still the one that was applied: a status must not speak of another spec.
Array applied_patch(const api::Listener& listener) {
  return {Object{{"op", "test"}, {"path", "/spec"}, {"value", api::encode(listener.spec)}},
          Object{{"op", "add"},
                 {"path", annotation_pointer(claims::kAppliedAnnotation)},
                 {"value", claims::spec_hash(listener.spec)}},
          Object{{"op", "add"},
                 {"path", "/status"},
                 {"value", Object{{"status", "Synced"},
                                  {"listenerID", listener.meta.name},
                                  {"portpool", listener.status.port_pool}}}}};
}

}  // namespace

void add_pod_index(kube::Store<kube::Pod>& pods) {
  pods.add_index(std::string(kTokenPodIndex), [](const kube::Pod& pod, kube::EmitKey emit) {
    const std::string_view token = kube::get(pod.meta.labels, ledger::kTokenLabel);
    if (!token.empty()) emit(token);
  });
}

PortPoolControllers::PortPoolControllers(Tasks& tasks, kube::Client& client, Caches caches,
                                         claims::Claimer& claimer, lb::Forwarder& forwarder,
                                         kube::EventRecorder& events,
                                         std::function<bool()> may_write,
                                         metrics::Registry* registry)
    : client_(client),
      caches_(caches),
      claimer_(claimer),
      forwarder_(forwarder),
      events_(events),
      may_write_(std::move(may_write)),
      pools_(tasks, {.name = "portpool", .registry = registry},
             [this](const Context& c, const ObjectKey& k) { return reconcile_pool(c, k); }),
      slots_(tasks, {.name = "portbinding", .workers = kSlotWorkers, .registry = registry},
             [this](const Context& c, const ObjectKey& k) { return reconcile_slot(c, k); }),
      forwarding_(
          tasks, {.name = "forwarding", .workers = kSlotWorkers, .registry = registry},
          [this](const Context& c, const ObjectKey& k) { return reconcile_forwarding(c, k); }) {
  pools_.watch(caches_.pools,
               [](const auto& change, const auto& emit) { emit(change.object().meta.key()); });
  pools_.watch(caches_.listeners, [](const auto& change, const auto& emit) {
    if (claims::belongs_to_pool(change.object())) emit(claims::pool_of(change.object()));
  });
  slots_.watch(caches_.listeners,
               [](const auto& change, const auto& emit) { emit(change.object().meta.key()); });
  slots_.watch(caches_.pods, [this](const auto& change, const auto& emit) {
    const kube::Pod& pod = change.object();
    const std::string_view token = kube::get(pod.meta.labels, ledger::kTokenLabel);
    if (token.empty()) return;
    for (const auto& slot : caches_.listeners.by_index(claims::kTokenIndex, token))
      emit(slot->meta.key());
    for (const auto& slot : slots_of(pod)) emit(slot->meta.key());
  });
  forwarding_.watch(caches_.listeners,
                    [](const auto& change, const auto& emit) { emit(change.object().meta.key()); });
}

void PortPoolControllers::add_to(kube::Manager& manager) {
  manager.add(pools_);
  manager.add(slots_);
  manager.add(forwarding_);
}

Result<Requeue> PortPoolControllers::reconcile_pool(const Context& context, const ObjectKey& key) {
  const auto pool = caches_.pools.get(key);
  if (!pool || pool->meta.deleting) return Requeue{};
  if (Result<> created = create_missing(context, *pool); !created) return pass(created);
  if (Result<> written = write_pool_status(context, *pool); !written) return pass(written);
  return Requeue{};
}

Result<> PortPoolControllers::create_missing(const Context& context, const api::PortPool& pool) {
  const Result<std::vector<WantedSlot>> wanted = wanted_slots(pool);
  if (!wanted) {
    const Error error = error_of(Code::invalid, "cannot be used")
                            .about("PortPool " + pool.meta.key().to_string())
                            .because(wanted.error());
    events_.record(pool_failed(pool, error));
    return fail(error);
  }
  for (const WantedSlot& slot : *wanted) {
    if (caches_.listeners.get({std::string(pool.meta.ns.view()), slot.name})) continue;
    Result<Value> created =
        client_.create(context, api::listener_kind().type, new_listener(pool, slot));
    if (!created && created.error().code == Code::already_exists) continue;  // the cache is behind
    if (!created) return pass(created);
    if (Result<api::Listener> listener = api::decode_listener(*created))
      caches_.listeners.put(std::move(*listener));
  }
  return {};
}

Result<> PortPoolControllers::write_pool_status(const Context& context, const api::PortPool& pool) {
  const auto listeners =
      caches_.listeners.by_index(claims::kPoolIndex, pool.meta.key().to_string());
  const api::PortPoolStatus status = pool_status(pool, listeners);
  const Object wanted = api::encode(status);
  if (wanted == api::encode(pool.status)) return {};
  Result<Value> written =
      client_.patch(context, api::port_pool_kind().type, pool.meta.key(), kube::PatchType::merge,
                    Object{{"status", wanted}}, {.subresource = "status"});
  if (!written) return pass(written);
  if (Result<api::PortPool> next = api::decode_port_pool(*written))
    caches_.pools.put(std::move(*next));
  if (status.status == api::kReady && pool.status.status != api::kReady)
    events_.record(pool_is_ready(pool));
  return {};
}

Result<Requeue> PortPoolControllers::reconcile_slot(const Context& context, const ObjectKey& key) {
  const auto listener = caches_.listeners.get(key);
  if (!listener || !claims::belongs_to_pool(*listener)) return Requeue{};
  const Result<std::optional<ledger::Claim>> claim =
      ledger::decode_claim(claims::claim_text(*listener));
  if (!claim) return fail(Error(claim.error()).about("Listener " + key.to_string()));
  if (!*claim) return Requeue{};

  Result<PodView> view = find_pod(context, **claim, false);
  if (!view) return pass(view);
  Result<SlotStep> step = next_step(*listener, &**claim, *view, context.tasks.wall_time());
  if (step && step->check_pod_is_gone) {
    view = find_pod(context, **claim, true);
    if (!view) return pass(view);
    step = next_step(*listener, &**claim, *view, context.tasks.wall_time());
  }
  if (!step) return pass(step);
  if (step->swap) {
    Result<> swapped = claimer_.swap(context, *listener, step->swap->claim, step->swap->spec);
    // Somebody else moved it on: its change comes through the cache and brings this key back.
    const Code code = swapped ? Code::internal : swapped.error().code;
    if (!swapped && code != Code::precondition && code != Code::not_found) return pass(swapped);
  }
  if (step->announce_ready && all_lead_to(*view->pod, slots_of(*view->pod))) {
    if (Result<> told = announce_ready(context, *view->pod); !told) return pass(told);
  }
  return Requeue{.after = step->wait};
}

std::vector<claims::ListenerStore::Ptr> PortPoolControllers::slots_of(const kube::Pod& pod) const {
  return caches_.listeners.by_index(claims::kPodIndex, pod.meta.key().to_string());
}

// By name once the claim is bound, by token before. `certain` asks the server instead of the cache.
Result<PodView> PortPoolControllers::find_pod(const Context& context, const ledger::Claim& claim,
                                              bool certain) {
  if (!certain) {
    if (!claim.pod_name.empty())
      return PodView{caches_.pods.get({claim.ns, claim.pod_name}), false};
    const auto pods = caches_.pods.by_index(kTokenPodIndex, claim.token);
    return PodView{pods.empty() ? nullptr : pods.front(), false};
  }
  // By token in both cases: a Pod whose label was taken off must not lose its port, so the name is
  // asked first.
  if (!claim.pod_name.empty()) {
    const Result<Value> pod = client_.get(context, kube::types::kPod, {claim.ns, claim.pod_name});
    if (!pod && pod.error().code == Code::not_found) return PodView{nullptr, true};
    if (!pod) return fail(pod.error());
    const bool same = wire::string_at(*pod, "/metadata/uid") == claim.pod_uid;
    // The same Pod is there after all: the cache will show it.
    if (same)
      return fail(Code::unavailable, "the Pod cache is behind for {}/{}", claim.ns, claim.pod_name);
    return PodView{nullptr, true};
  }
  const Result<kube::ListPage> page = client_.list(
      context, kube::types::kPod,
      {.ns = claim.ns, .label_selector = fmt::format("{}={}", ledger::kTokenLabel, claim.token)});
  if (!page) return fail(page.error());
  if (!page->items.empty())
    return fail(Code::unavailable, "the Pod cache is behind for a claim in {}", claim.ns);
  return PodView{nullptr, true};
}

Result<> PortPoolControllers::announce_ready(const Context& context, const kube::Pod& pod) {
  // The uid is in the patch as a precondition: a new Pod of the same name has its own port to wait
  // for.
  const Object patch{
      {"metadata", Object{{"uid", pod.meta.uid},
                          {"annotations", Object{{api::kBindStatusAnnotation, api::kReady}}}}}};
  const Result<Value> written =
      client_.patch(context, kube::types::kPod, pod.meta.key(), kube::PatchType::merge, patch,
                    {.subresource = "status"});
  if (written) {
    events_.record(pod_is_ready(pod));
    return {};
  }
  const Code code = written.error().code;
  if (code == Code::not_found || code == Code::conflict || code == Code::invalid) return {};
  return fail(written.error());
}

Result<Requeue> PortPoolControllers::reconcile_forwarding(const Context& context,
                                                          const ObjectKey& key) {
  const auto listener = caches_.listeners.get(key);
  if (!listener || claims::is_applied(*listener)) return Requeue{};
  const Result<model::Protocol> protocol = model::parse_protocol(listener->spec.protocol);
  if (!protocol)
    return fail(Error(protocol.error()).about("Listener " + key.to_string()).at("spec.protocol"));
  if (!may_write_()) return fail(Code::unavailable, "not the leader at this moment");

  const std::string address = forwarder_.address_of(listener->spec.load_balancer_id);
  if (Result<> applied = forwarder_.apply(context, forwarding_of(*listener, address, *protocol));
      !applied) {
    if (applied.error().code != Code::stopped)
      events_.record(listener_failed(*listener, applied.error()));
    return pass(applied);
  }
  Result<Value> written = client_.patch(context, api::listener_kind().type, key,
                                        kube::PatchType::json, applied_patch(*listener));
  if (!written && written.error().code == Code::precondition)
    return Requeue{};  // the new spec brings the key back
  if (!written && written.error().code == Code::not_found) return Requeue{};
  if (!written) return pass(written);
  if (Result<api::Listener> next = api::decode_listener(*written))
    caches_.listeners.put(std::move(*next));
  return Requeue{};
}

}  // namespace berth::controllers::portpool
