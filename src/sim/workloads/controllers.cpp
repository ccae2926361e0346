#include "sim/workloads/controllers.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "kube/cache/core_types.h"
#include "kube/runtime/event_recorder.h"
#include "kube/runtime/manager.h"
#include "sim/workloads/cached.h"
#include "sim/workloads/deployment.h"
#include "sim/workloads/garbage_collector.h"
#include "sim/workloads/replica_set.h"
#include "sim/workloads/service.h"
#include "sim/workloads/stateful_set.h"

namespace berth::workloads {
namespace {

using kube::ObjectKey;
using kube::Requeue;
using wire::Value;

constexpr std::string_view kNamespaceIndex = "namespace";
// How soon a stop that comes in the middle of something is obeyed: nobody waits for a playground.
constexpr Duration kDrain = std::chrono::seconds{2};
// A Deployment that makes no progress is told so when its time is over.
constexpr Duration kProgressCheck = std::chrono::seconds{10};

kube::Projection<kube::Pod> pods_projection() {
  return kube::pod_projection(
      {.annotations = kube::KeyFilter::only({std::string(kDeletionCostAnnotation)})});
}

template <class T>
void add_namespace_index(kube::Store<T>& store) {
  store.add_index(std::string(kNamespaceIndex),
                  [](const T& object, auto emit) { emit(object.meta.ns.view()); });
}

// Any refusal may end with the next change of the cluster, so all of them are tried again.
Failure try_again(const Error& error) {
  Error out = error;
  if (out.code == Code::invalid || out.code == Code::unsupported) out.code = Code::unavailable;
  return fail(std::move(out));
}

kube::EventTarget target_of(const kube::ResourceType& type, const kube::ObjectMeta& meta) {
  return {.api_version = type.api_version(),
          .kind = type.kind,
          .ns = std::string(meta.ns.view()),
          .name = meta.name,
          .uid = meta.uid};
}

bool has_removal(const Writes& writes) {
  return std::ranges::any_of(writes, [](const Write& w) { return w.verb == Verb::remove; });
}

}  // namespace

class Controllers::Impl {
 public:
  Impl(Tasks& tasks, kube::Client& client, Random random, const ControllersOptions& options)
      : tasks_(tasks),
        recorder_(tasks, client, "controller-manager", registry_),
        pods_(tasks, client, pods_projection(), random.fork()),
        deployments_(tasks, client, any_object_projection(kube::types::kDeployment), random.fork()),
        sets_(tasks, client, any_object_projection(kube::types::kReplicaSet), random.fork()),
        stateful_(tasks, client, any_object_projection(kube::types::kStatefulSet), random.fork()),
        games_(tasks, client, any_object_projection(types::kGameStatefulSet), random.fork()),
        revisions_(tasks, client, any_object_projection(types::kControllerRevision), random.fork()),
        services_(tasks, client, any_object_projection(kube::types::kService), random.fork()),
        endpoints_(tasks, client, any_object_projection(kube::types::kEndpoints), random.fork()),
        slices_(tasks, client, any_object_projection(types::kEndpointSlice), random.fork()),
        deployment_controller_(tasks, {.name = "deployment"}, bind(&Impl::reconcile_deployment)),
        set_controller_(tasks, {.name = "replicaset"}, bind(&Impl::reconcile_replica_set)),
        stateful_controller_(tasks, {.name = "statefulset"}, bind(&Impl::reconcile_stateful_set)),
        game_controller_(tasks, {.name = "gamestatefulset"}, bind(&Impl::reconcile_game)),
        service_controller_(tasks, {.name = "service"}, bind(&Impl::reconcile_service)),
        endpoints_controller_(tasks, {.name = "endpoints"}, bind(&Impl::reconcile_endpoints)),
        garbage_(tasks, client, random.fork()),
        manager_({.drain = kDrain}) {
    add_namespace_index(pods_.store());
    for (auto* kind :
         {&deployments_, &sets_, &stateful_, &games_, &revisions_, &services_, &slices_}) {
      add_namespace_index(kind->store());
    }
    watch_workloads();
    watch_services();
    manager_.add(pods_.core());
    for (auto* kind :
         {&deployments_, &sets_, &stateful_, &revisions_, &services_, &endpoints_, &slices_}) {
      manager_.add(kind->core());
    }
    for (auto* controller : {&deployment_controller_, &set_controller_, &stateful_controller_,
                             &service_controller_, &endpoints_controller_}) {
      manager_.add(*controller);
    }
    if (options.game_stateful_sets) {
      manager_.add(games_.core());
      manager_.add(game_controller_);
    }
    garbage_.add_to(manager_);
  }

  bool ready() const { return manager_.leading(); }

  Result<> run(const Context& context) {
    const auto events = tasks_.spawn("events", [&](std::stop_token stop) {
      Context writing = context;
      writing.stop = std::move(stop);
      recorder_.write_all(writing);
    });
    Result<> ran = manager_.run(context);
    garbage_.stop();
    return ran;
  }

 private:
  using Member = Result<Requeue> (Impl::*)(const Context&, const ObjectKey&);
  kube::Reconcile bind(Member member) {
    return [this, member](const Context& context, const ObjectKey& key) {
      Result<Requeue> done = (this->*member)(context, key);
      if (!done) return Result<Requeue>(try_again(done.error()));
      return done;
    };
  }

  // A change of an object concerns itself, the one that controls it, and those that might adopt it.
  template <class T>
  static void watch_owned(kube::Controller& controller, kube::Store<T>& owned,
                          kube::Store<AnyObject>& owners, std::string kind) {
    controller.watch(owned, [&owners, kind](const kube::Change<T>& change, const auto& emit) {
      for (const auto& object : {change.before, change.after}) {
        if (!object) continue;
        const std::string ns(object->meta.ns.view());
        const kube::OwnerReference* owner = object->meta.controller();
        if (owner != nullptr && owner->kind == kind) emit(ObjectKey{ns, owner->name});
        if (owner != nullptr) continue;
        for (const AnyPtr& candidate : owners.by_index(kNamespaceIndex, ns)) {
          if (selects(wire::find(candidate->value, "/spec/selector"), object->meta.labels))
            emit(candidate->meta.key());
        }
      }
    });
  }
  static void watch_self(kube::Controller& controller, kube::Store<AnyObject>& store) {
    controller.watch(
        store, [](const auto& change, const auto& emit) { emit(change.object().meta.key()); });
  }

  void watch_workloads() {
    watch_self(deployment_controller_, deployments_.store());
    watch_owned(deployment_controller_, sets_.store(), deployments_.store(), "Deployment");
    // A Deployment that recreates waits for the last Pod of the former template.
    deployment_controller_.watch(pods_.store(), [this](const auto& change, const auto& emit) {
      const kube::OwnerReference* owner = change.object().meta.controller();
      if (change.after || owner == nullptr || owner->kind != "ReplicaSet") return;
      const AnyPtr set = sets_.store().get(change.object().meta.ns.view(), owner->name);
      const kube::OwnerReference* top = set ? set->meta.controller() : nullptr;
      if (top != nullptr) emit(ObjectKey{set->meta.key().ns, top->name});
    });
    watch_self(set_controller_, sets_.store());
    watch_owned(set_controller_, pods_.store(), sets_.store(), "ReplicaSet");
    watch_self(stateful_controller_, stateful_.store());
    watch_owned(stateful_controller_, pods_.store(), stateful_.store(), "StatefulSet");
    watch_self(game_controller_, games_.store());
    watch_owned(game_controller_, pods_.store(), games_.store(), "GameStatefulSet");
  }

  void watch_services() {
    watch_self(service_controller_, services_.store());
    watch_self(endpoints_controller_, services_.store());
    endpoints_controller_.watch(pods_.store(), [this](const auto& change, const auto& emit) {
      for (const AnyPtr& service :
           services_.store().by_index(kNamespaceIndex, change.object().meta.ns.view())) {
        const wire::Object& selector = object_or_empty(service->value, "/spec/selector");
        for (const auto& pod : {change.before, change.after}) {
          if (pod && selects(selector, pod->meta.labels)) emit(service->meta.key());
        }
      }
    });
    // What somebody deleted or changed by hand is put right.
    watch_self(endpoints_controller_, endpoints_.store());
    endpoints_controller_.watch(slices_.store(), [](const auto& change, const auto& emit) {
      const kube::OwnerReference* owner = change.object().meta.controller();
      if (owner != nullptr && owner->kind == "Service")
        emit(ObjectKey{change.object().meta.key().ns, owner->name});
    });
  }

  template <class T>
  static std::vector<std::shared_ptr<const T>> in_namespace(Cached<T>& kind,
                                                            const std::string& ns) {
    return kind.store().by_index(kNamespaceIndex, ns);
  }

  Result<Requeue> reconcile_deployment(const Context& context, const ObjectKey& key) {
    const AnyPtr deployment = deployments_.store().get(key);
    if (!deployment) return Requeue{};
    const DeploymentPlan plan =
        plan_deployment(*deployment, in_namespace(sets_, key.ns), in_namespace(pods_, key.ns),
                        context.tasks.wall_time());
    if (Result<> sent = sets_.send_all(context, plan.sets); !sent) return pass(sent);
    if (Result<> sent = deployments_.send_all(context, plan.deployment); !sent) return pass(sent);
    const bool rolling = int_or(deployment->value, "/status/unavailableReplicas", 0) > 0;
    return rolling ? Requeue{.after = kProgressCheck} : Requeue{};
  }

  Result<Requeue> reconcile_replica_set(const Context& context, const ObjectKey& key) {
    const AnyPtr set = sets_.store().get(key);
    if (!set) return Requeue{};
    const Writes writes = plan_replica_set(*set, in_namespace(pods_, key.ns));
    const Result<> sent = pods_.send_all(context, writes);
    std::optional<ReplicaFailure> failure;
    if (!sent && sent.error().code != Code::stopped) {
      const std::string reason = has_removal(writes) ? "FailedDelete" : "FailedCreate";
      failure = {reason, sent.error().message};
      warn(kube::types::kReplicaSet, set->meta, reason,
           reason == "FailedCreate" ? "Error creating: " + sent.error().message
                                    : "Error deleting: " + sent.error().message);
    }
    const Writes status = plan_replica_set_status(*set, in_namespace(pods_, key.ns), failure,
                                                  context.tasks.wall_time());
    if (Result<> told = sets_.send_all(context, status); !told) return pass(told);
    if (!sent) return fail(sent.error());
    return Requeue{};
  }

  Result<Requeue> reconcile_stateful_set(const Context& context, const ObjectKey& key) {
    return reconcile_stateful(context, kube::types::kStatefulSet, stateful_, key);
  }
  Result<Requeue> reconcile_game(const Context& context, const ObjectKey& key) {
    return reconcile_stateful(context, types::kGameStatefulSet, games_, key);
  }

  Result<Requeue> reconcile_stateful(const Context& context, const kube::ResourceType& type,
                                     Cached<AnyObject>& kind, const ObjectKey& key) {
    const AnyPtr set = kind.store().get(key);
    if (!set) return Requeue{};
    const StatefulSetPlan plan = plan_stateful_set(type, *set, in_namespace(revisions_, key.ns),
                                                   in_namespace(pods_, key.ns));
    if (Result<> sent = revisions_.send_all(context, plan.revisions); !sent) return pass(sent);
    const Result<> sent = pods_.send_all(context, plan.pods);
    if (!sent && sent.error().code != Code::stopped) {
      warn(type, set->meta, "FailedCreate",
           fmt::format("create Pod in {} {} failed error: {}", type.kind, set->meta.name,
                       sent.error().message));
    }
    if (Result<> told = kind.send_all(context, plan.set); !told) return pass(told);
    if (!sent) return fail(sent.error());
    return Requeue{};
  }

  Result<Requeue> reconcile_service(const Context& context, const ObjectKey& key) {
    const AnyPtr service = services_.store().get(key);
    if (!service) return Requeue{};
    const Result<Writes> plan = plan_service(*service, numbers_in_use(services_.store().all()));
    if (!plan) return fail(plan.error());
    if (Result<> sent = services_.send_all(context, *plan); !sent) return pass(sent);
    return Requeue{};
  }

  Result<Requeue> reconcile_endpoints(const Context& context, const ObjectKey& key) {
    const AnyPtr service = services_.store().get(key);
    const AnyPtr endpoints = endpoints_.store().get(key);
    if (!service) {
      // Slices have an owner, Endpoints go by their name.
      if (endpoints && endpoints->meta.owners.empty() && was_service(key)) {
        if (Result<> sent = endpoints_.send(context, remove_write(endpoints->meta)); !sent)
          return pass(sent);
      }
      return Requeue{};
    }
    known_services_.insert(key);
    AnyList slices = in_namespace(slices_, key.ns);
    std::erase_if(
        slices, [&](const AnyPtr& slice) { return !is_controlled_by(slice->meta, service->meta); });
    const EndpointsPlan plan =
        plan_endpoints(*service, in_namespace(pods_, key.ns), endpoints, slices);
    if (Result<> sent = endpoints_.send_all(context, plan.endpoints); !sent) return pass(sent);
    if (Result<> sent = slices_.send_all(context, plan.slices); !sent) return pass(sent);
    return Requeue{};
  }
  bool was_service(const ObjectKey& key) { return known_services_.erase(key) > 0; }

  void warn(const kube::ResourceType& type, const kube::ObjectMeta& meta, std::string reason,
            std::string message) {
    recorder_.record({.target = target_of(type, meta),
                      .type = "Warning",
                      .reason = std::move(reason),
                      .message = std::move(message)});
  }

  Tasks& tasks_;
  metrics::Registry registry_;
  kube::EventRecorder recorder_;
  Cached<kube::Pod> pods_;
  Cached<AnyObject> deployments_;
  Cached<AnyObject> sets_;
  Cached<AnyObject> stateful_;
  Cached<AnyObject> games_;
  Cached<AnyObject> revisions_;
  Cached<AnyObject> services_;
  Cached<AnyObject> endpoints_;
  Cached<AnyObject> slices_;
  std::set<ObjectKey> known_services_;  // of the one worker of endpoints
  kube::Controller deployment_controller_;
  kube::Controller set_controller_;
  kube::Controller stateful_controller_;
  kube::Controller game_controller_;
  kube::Controller service_controller_;
  kube::Controller endpoints_controller_;
  GarbageCollector garbage_;
  kube::Manager manager_;
};

Controllers::Controllers(Tasks& tasks, kube::Client& client, Random random,
                         ControllersOptions options)
    : impl_(std::make_unique<Impl>(tasks, client, random, options)) {}
Controllers::~Controllers() = default;

Result<> Controllers::run(const Context& context) { return impl_->run(context); }
bool Controllers::ready() const { return impl_->ready(); }

}  // namespace berth::workloads
