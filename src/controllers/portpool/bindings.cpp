#include "controllers/portpool/bindings.h"

#include <algorithm>
#include <boost/json.hpp>

#include "claims/finalizer.h"
#include "controllers/portpool/binding_view.h"
#include "controllers/portpool/events.h"
#include "controllers/portpool/pod_index.h"
#include "frontend/failures.h"
#include "frontend/steps.h"

namespace berth::controllers::portpool {
namespace {

using claims::ListenerPtr;
using frontend::kCatchUp;
using kube::ObjectKey;
using kube::Requeue;
using kube::was_overtaken;
using wire::Array;
using wire::Object;
using wire::Value;

// Pods are worked on side by side; the API server's own limits (priority levels) are what bounds
// them.
constexpr int kWorkers = 16;

// What a Pod's entries take from its pool.
bool concerns_pods(const kube::Change<api::PortPool>& change) {
  if (!change.before || !change.after) return false;
  const auto& before = change.before->status.pool_items;
  const auto& after = change.after->status.pool_items;
  return !std::ranges::equal(before, after, [](const auto& a, const auto& b) {
    return a.item_name == b.item_name && a.external == b.external &&
           a.pool_item_load_balancers == b.pool_item_load_balancers;
  });
}

Object condition_of(const PodNote::ReadyCondition& condition, WallTime now) {
  return {{"type", api::kPortsReadyCondition},
          {"status", condition.ready ? "True" : "False"},
          {"reason", condition.reason},
          {"message", condition.message},
          {"lastTransitionTime", format_rfc3339(now)}};
}

}  // namespace

BindingController::BindingController(Tasks& tasks, kube::Client& client, Caches caches,
                                     claims::Claimer& claimer, const claims::Sealer& sealer,
                                     kube::EventRecorder& events, BindingOptions options,
                                     metrics::Registry* registry)
    : client_(client),
      caches_(caches),
      objects_(api::port_bindings(client, caches.bindings)),
      claimer_(claimer),
      sealer_(sealer),
      events_(events),
      options_(std::move(options)),
      controller_(tasks, frontend::counting_failures("portbinding", kWorkers, registry),
                  [this](const Context& c, const PodKey& k) { return reconcile(c, k); }) {
  watch();
}

void BindingController::watch() {
  controller_.watch(caches_.pods, [this](const auto& change, const auto& emit) {
    const ObjectKey key = change.object().meta.key();
    // Somebody may have taken off what says so.
    if (has_ports(change.object()) ||
        !caches_.listeners.by_index(claims::kPodIndex, key.to_string()).empty())
      emit(PodKey(key));
  });
  caches_.pods.on_change([this](const kube::Change<kube::Pod>& change) {
    expect_farewell(change);
    if (change.after) return;
    const MutexLock lock(mu_);
    lost_since_.erase(change.before->meta.uid);
  });
  controller_.watch(caches_.bindings, [](const auto& change, const auto& emit) {
    emit(PodKey(change.object().meta.key()));
  });
  controller_.watch(caches_.listeners, [this](const auto& change, const auto& emit) {
    for (const ObjectKey& pod : pods_concerned(change, caches_.listeners, caches_.pods))
      emit(PodKey(pod));
  });
  controller_.watch(caches_.pools, [this](const auto& change, const auto& emit) {
    if (!concerns_pods(change)) return;
    for (const ListenerPtr& listener : caches_.listeners.by_index(
             claims::kOwnerIndex, claims::pool_key(change.object().meta.key()))) {
      if (const auto pod = pod_of(*listener, caches_.listeners, caches_.pods)) emit(PodKey(*pod));
    }
  });
}

void BindingController::look_at_all() {
  for (const auto& pod : caches_.pods.all())
    if (has_ports(*pod)) controller_.add(PodKey::of(*pod));
}

// It goes: its Listeners will lead nowhere.
void BindingController::expect_farewell(const kube::Change<kube::Pod>& change) {
  if (!change.before) return;
  const bool goes = !change.after || (change.after->meta.deleting && !change.before->meta.deleting);
  if (!goes) return;
  for (const ListenerPtr& listener :
       caches_.listeners.by_index(claims::kPodIndex, change.before->meta.key().to_string())) {
    if (claims::has_targets(listener->spec)) options_.on_likely(*listener);
  }
}

Result<Requeue> BindingController::reconcile(const Context& context, const PodKey& pod) {
  const ObjectKey& key = pod.object;
  if (!options_.may_write()) return fail(Code::unavailable, "not the leader at this moment");
  BindingView view = view_of(key, context.tasks);
  BindingPlan plan = plan_binding(view);
  if (plan.ask_server) {
    Result<std::string> uid = ask_server(context, key);
    if (!uid) return pass(uid);
    view = view_of(key, context.tasks);
    view.server_uid = std::move(*uid);
    plan = plan_binding(view);
    if (plan.ask_server) return fail(Code::internal, "asked the server twice");
  }
  Result<> applied = apply(context, view, plan);
  if (!applied && was_overtaken(applied.error()))
    return Requeue{.after = std::min(plan.requeue_after.value_or(kCatchUp), kCatchUp)};
  if (!applied) return pass(applied);
  for (kube::EventNote& event : plan.pod_events) events_.record(std::move(event));
  if (plan.pod_note.status == api::kReady)
    options_.on_ready(
        std::max(context.tasks.wall_time() - view.pod->meta.created, Duration::zero()));
  return Requeue{.after = plan.requeue_after};
}

BindingView BindingController::view_of(const ObjectKey& key, Tasks& tasks) {
  BindingView view =
      view_binding(key, caches_, sealer_,
                   {.now = tasks.wall_time(),
                    .quarantine = options_.quarantine,
                    .max_keep = options_.max_keep,
                    .age_of = [this](const api::Listener& lock) { return claimer_.age(lock); }});
  view.lost_for = lost_for(view, tasks.now());
  return view;
}

Duration BindingController::lost_for(const BindingView& view, Instant now) {
  const MutexLock lock(mu_);
  if (view.pod && !view.lost.empty())
    return now - lost_since_.try_emplace(view.pod->meta.uid, now).first->second;
  if (view.pod) lost_since_.erase(view.pod->meta.uid);
  return {};
}

Result<std::string> BindingController::ask_server(const Context& context, const ObjectKey& key) {
  const Result<Value> pod = client_.get(context, kube::types::kPod, key);
  if (pod) return std::string(wire::string_at(*pod, "/metadata/uid"));
  if (pod.error().code == Code::not_found) return std::string();
  return fail(pod.error());
}

Result<> BindingController::apply(const Context& context, const BindingView& view,
                                  const BindingPlan& plan) {
  // Nobody hears Ready of a port that we are about to take away: we may die in between.
  const bool is_told_first = plan.pod_note.takes_ready_away();
  if (is_told_first) {
    if (Result<> told = write_note(context, *view.pod, plan.pod_note); !told) return told;
  }
  for (const BindingPlan::Change& one : plan.changes)
    if (one.change.spec) options_.on_write(*one.listener);
  for (const BindingPlan::Change& one : plan.changes) {
    for (const ListenerPtr& peer : one.resting)
      if (Result<> current = claimer_.need_current(context, *peer); !current) return current;
    if (Result<> changed = claimer_.change(context, *one.listener, one.change); !changed)
      return changed;
  }
  if (Result<> written = write_object(context, view, plan); !written) return written;
  for (const kube::EventNote& event : plan.binding_events) events_.record(event);
  if (is_told_first || plan.pod_note.empty()) return {};
  return write_note(context, *view.pod, plan.pod_note);
}

Result<> BindingController::write_object(const Context& context, const BindingView& view,
                                         const BindingPlan& plan) {
  if (plan.create_binding) return create_object(context, *plan.create_binding);
  if (plan.delete_binding) return remove_object(context, *view.binding);
  if (plan.patch_binding) {
    auto written = objects_.patch(context, view.key, kube::PatchType::merge, *plan.patch_binding);
    if (!written) return pass(written);
  }
  if (plan.binding_status) {
    auto written =
        objects_.patch_status(context, view.key, kube::PatchType::json, *plan.binding_status);
    if (!written) return pass(written);
  }
  return {};
}

Result<> BindingController::create_object(const Context& context, const Value& object) {
  auto made = objects_.create(context, object);
  if (made) {
    if (*made) events_.record(binding_created(**made));
    return {};
  }
  if (made.error().code != Code::already_exists) return pass(made);
  // The cache is behind: the next round sees it.
  return fail(Code::precondition, "the PortBinding is there already");
}

Result<> BindingController::remove_object(const Context& context, const api::PortBinding& binding) {
  const ObjectKey key = binding.meta.key();
  if (!binding.meta.deleting) {
    Result<> removed = objects_.remove(context, key, {.uid = binding.meta.uid});
    if (!removed) return removed;
  }
  if (!claims::has_our_finalizer(binding.meta)) return {};
  return objects_.patch_away(context, key, kube::PatchType::json,
                             claims::finalizer_patch(binding.meta, false));
}

// Annotation and condition in one write; the uid is a precondition, because a new Pod of the same
// name has its own ports to wait for.
Result<> BindingController::write_note(const Context& context, const kube::Pod& pod,
                                       const PodNote& note) {
  Object annotations;
  if (note.status) annotations[api::kBindStatusAnnotation] = *note.status;
  if (note.bindings) annotations[api::kPoolBindingsAnnotation] = *note.bindings;
  if (note.seal) annotations[claims::kPortsSealAnnotation] = *note.seal;
  Object patch{{"metadata", Object{{"uid", pod.meta.uid}, {"annotations", annotations}}}};
  if (note.condition) {
    patch["status"] =
        Object{{"conditions", Array{condition_of(*note.condition, context.tasks.wall_time())}}};
  }
  const Result<Value> written =
      client_.patch(context, kube::types::kPod, pod.meta.key(), kube::PatchType::strategic, patch,
                    {.subresource = "status"});
  if (!written) return fail(written.error());
  // Otherwise the next round, which our own writes bring, would tell it once more.
  const auto version =
      kube::parse_resource_version(wire::string_at(*written, "/metadata/resourceVersion"));
  if (version) controller_.park(PodKey::of(pod), caches_.pods, *version);
  return {};
}

}  // namespace berth::controllers::portpool
