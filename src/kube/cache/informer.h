// Informer<T>: a Store of one kind, and the task that keeps it equal to the API server.
//
// Indexes and handlers are added to `store()` before `start`. Owned by the composition root; the
// destructor stops and joins the task. Everything but `start` may be called from any task.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "base/context.h"
#include "base/random.h"
#include "kube/cache/projection.h"
#include "kube/cache/reflector.h"
#include "kube/cache/store.h"
#include "kube/cache/store_target.h"
#include "kube/cache/waiters.h"
#include "kube/client/client.h"

namespace berth::kube {

struct InformerOptions {
  metrics::Registry* registry = nullptr;
  BackoffPolicy backoff{};
};

// The part without the type: what a manager holds many of.
class InformerCore {
 public:
  // All of them outlive it.
  InformerCore(Tasks& tasks, Client& client, ReflectorTarget& target, StoreProgress& progress,
               ReflectorOptions options, Random random);

  // Once. The informer ends with this token, or with its destructor.
  void start(std::stop_token stop);
  // Ends the task and returns when it has ended: no handler runs any more.
  void stop();
  // Blocks until the first list is in the store and was delivered to the handlers.
  Result<> wait_synced(const Context& context);
  // Blocks until a consistent list that was begun after this call is in the store.
  Result<> relist_at_latest(const Context& context) { return reflector_.relist_at_latest(context); }

  const ResourceType& type() const { return type_; }
  StoreProgress& progress() { return progress_; }

 private:
  struct StopTask {
    Task* task;
    void operator()() const { task->request_stop(); }
  };

  Tasks& tasks_;
  StoreProgress& progress_;
  const ResourceType type_;
  Reflector reflector_;
  Waiters waiters_;
  std::unique_ptr<Task> task_;
  std::optional<std::stop_callback<StopTask>> stop_;
};

template <class T>
class Informer final {
 public:
  Informer(Tasks& tasks, Client& client, Projection<T> projection, Random random,
           InformerOptions options = {})
      : target_(store_, projection, options.registry),
        core_(tasks, client, target_, store_,
              {.type = projection.type,
               .selection = projection.selection,
               .protobuf = projection.from_protobuf != nullptr,
               .registry = options.registry,
               .backoff = options.backoff},
              random) {}

  Store<T>& store() { return store_; }
  const Store<T>& store() const { return store_; }
  InformerCore& core() { return core_; }
  // Objects that the server has and that the store lacks, or has as they were: they cannot be read.
  std::size_t undecodable() const { return target_.undecodable(); }

  void start(std::stop_token stop) { core_.start(std::move(stop)); }
  Result<> wait_synced(const Context& context) { return core_.wait_synced(context); }
  Result<> relist_at_latest(const Context& context) { return core_.relist_at_latest(context); }

 private:
  Store<T> store_;
  StoreTarget<T> target_;
  InformerCore core_;  // last: its task uses the others
};

}  // namespace berth::kube
