// ControllerOf<Key>: a Controller whose keys say what they are keys of. A queue of Pods takes no
// pool, and a reconcile cannot take a namespace for a name.
//
// A key is a type of its own with two functions, and the queue keeps what they exchange:
//
//   ObjectKey queued() const;                 // tells keys apart, and shows them in logs
//   static Key from_queue(const ObjectKey&);  // the same key again
//
// KeyOf below is enough for objects of a kind, NamespaceKey for what is done once per namespace.
#pragma once

#include <compare>
#include <concepts>
#include <functional>
#include <string>
#include <utility>

#include "kube/runtime/controller.h"

namespace berth::kube {

template <class Key>
concept QueueKey = requires(const Key& key, const ObjectKey& queued) {
  { key.queued() } -> std::same_as<ObjectKey>;
  { Key::from_queue(queued) } -> std::same_as<Key>;
};

// An object of the kind that T holds: `using PodKey = KeyOf<kube::Pod>`.
template <class T>
struct KeyOf {
  ObjectKey object{};

  KeyOf() = default;
  explicit KeyOf(ObjectKey key) : object(std::move(key)) {}
  static KeyOf of(const T& named) { return KeyOf(named.meta.key()); }

  ObjectKey queued() const { return object; }
  static KeyOf from_queue(const ObjectKey& key) { return KeyOf(key); }
  friend auto operator<=>(const KeyOf&, const KeyOf&) = default;
};

struct NamespaceKey {
  std::string ns{};

  ObjectKey queued() const { return {"", ns}; }
  static NamespaceKey from_queue(const ObjectKey& key) { return {key.name}; }
  friend auto operator<=>(const NamespaceKey&, const NamespaceKey&) = default;
};

template <QueueKey Key>
class ControllerOf {
 public:
  using Reconcile = std::function<Result<Requeue>(const Context& context, const Key& key)>;

  ControllerOf(Tasks& tasks, ControllerOptions options, Reconcile reconcile)
      : core_(tasks, std::move(options),
              [reconcile = std::move(reconcile)](const Context& context, const ObjectKey& key) {
                return reconcile(context, Key::from_queue(key));
              }) {}

  // What a Manager runs.
  Controller& core() { return core_; }

  void add(const Key& key, Priority priority = Priority::normal) {
    core_.queue().add(key.queued(), priority);
  }
  void add_after(const Key& key, Duration delay) { core_.queue().add_after(key.queued(), delay); }
  // See WorkQueue.
  void park(const Key& key, const StoreProgress& store, ResourceVersion version) {
    core_.queue().park(key.queued(), store, version);
  }

  // As of Controller; `keys_of` emits keys of this controller.
  template <class StoreT, class KeysOf>
  void watch(StoreT& store, KeysOf keys_of, Duration later = {}) {
    core_.watch(
        store,
        [keys_of](const auto& change, const auto& emit) {
          keys_of(change, [&emit](const Key& key) { emit(key.queued()); });
        },
        later);
  }
  void at_start(std::function<void()> step) { core_.at_start(std::move(step)); }

 private:
  Controller core_;
};

}  // namespace berth::kube
