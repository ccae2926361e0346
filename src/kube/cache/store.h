// Store<T>: the objects of one kind as the API server has them, by key and by index.
//
// Objects are immutable and shared: what `get` returned stays as it is while the store moves on.
// Indexes and handlers are added before the first write. Thread-safe; owned by its Informer. The
// rules about versions are in `kube/cache/store_core.h`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/cache/store_core.h"
#include "kube/cache/store_progress.h"

namespace berth::kube {

// `before` null: an addition; `after` null: a deletion. An object of the same name with a new uid
// is a deletion, then an addition.
template <class T>
struct Change {
  std::shared_ptr<const T> before;
  std::shared_ptr<const T> after;
  bool initial = false;  // of the first list: nothing happened just now

  const T& object() const { return after ? *after : *before; }
};

template <class T>
class Store final : public StoreProgress {
 public:
  using Ptr = std::shared_ptr<const T>;
  // Calls `emit` for every key that the object shall be found under.
  using IndexFunction = std::function<void(const T& object, EmitKey emit)>;
  using Handler = std::function<void(const Change<T>& change)>;

  Store() : core_(&meta_of) {}

  void add_index(std::string name, IndexFunction keys_of) {
    core_.add_index(std::move(name),
                    [keys_of = std::move(keys_of)](const void* object, EmitKey emit) {
                      keys_of(*static_cast<const T*>(object), emit);
                    });
  }
  // Called after the lock is released, one change at a time and in order, on a task that writes.
  void on_change(Handler handler) {
    core_.on_change([handler = std::move(handler)](const StoreCore::Change& change) {
      handler({cast(change.before), cast(change.after), change.initial});
    });
  }
  void on_progress(std::function<void()> callback) override {
    core_.on_progress(std::move(callback));
  }

  // Null when it is not there.
  Ptr get(const ObjectKey& key) const { return get(key.ns, key.name); }
  Ptr get(std::string_view ns, std::string_view name) const { return cast(core_.get(ns, name)); }
  std::vector<Ptr> all() const {
    std::vector<Ptr> objects;
    objects.reserve(core_.size());
    core_.visit_all([&](const StoreCore::Object& object) { objects.push_back(cast(object)); });
    return objects;
  }
  std::vector<Ptr> by_index(std::string_view index, std::string_view key) const {
    std::vector<Ptr> objects;
    core_.visit_index(index, key,
                      [&](const StoreCore::Object& object) { objects.push_back(cast(object)); });
    return objects;
  }
  std::size_t size() const { return core_.size(); }
  bool synced() const override { return core_.synced(); }
  ResourceVersion seen() const override { return core_.seen(); }

  // A version that a watch event or the answer to a write of ours brought. False: it is old news.
  bool put(T object) { return core_.put(std::make_shared<const T>(std::move(object))); }
  bool put(Ptr object) { return core_.put(std::move(object)); }
  // A deletion at that version. An empty uid means whichever object has the name.
  bool erase(const ObjectKey& key, std::string_view uid, ResourceVersion at) {
    return core_.erase(key, uid, at);
  }
  // Everything up to this version has been written.
  void advance(ResourceVersion seen) { core_.advance(seen); }
  // The whole truth at one version: what is missing from it is deleted.
  Result<> replace(std::vector<T> list, ResourceVersion at) {
    begin_list();
    for (T& object : list) list_item(std::move(object));
    return end_list(at);
  }

  // The same step by step, as a list arrives; see StoreCore.
  void begin_list() { core_.begin_list(); }
  void list_item(T object) { core_.list_item(std::make_shared<const T>(std::move(object))); }
  void keep_listed(const ObjectKey& key) { core_.keep_listed(key); }
  void keep_unlisted() { core_.keep_unlisted(); }
  Result<> end_list(ResourceVersion at) { return core_.end_list(at); }
  void abandon_list() { core_.abandon_list(); }

 private:
  static const ObjectMeta& meta_of(const void* object) {
    return static_cast<const T*>(object)->meta;
  }
  static Ptr cast(StoreCore::Object object) {
    return std::static_pointer_cast<const T>(std::move(object));
  }

  StoreCore core_;
};

}  // namespace berth::kube
