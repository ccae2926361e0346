// The machinery of Store<T> without its type: objects by key, indexes, the order of versions, and
// the delivery of changes. Compiled once for all kinds; use it through `kube/cache/store.h`.
//
// Thread-safe. Rules that keep it right:
// - A version never replaces a newer one of the same key, whoever brings it.
// - `seen` covers every change up to it, so an absent object whose version it covers is a deleted
//   one: a late answer to a write of ours cannot bring it back. A deletion that lies ahead of
//   `seen` leaves a tombstone until `seen` has passed it.
// - A list is applied item by item; objects that it lacks are deleted at its end, except those
//   written after its snapshot. Given up half-way, it has deleted nothing.
// - Changes are delivered in the order they were applied, one at a time, without the lock of the
//   objects held. Whoever follows the server (lists, progress) delivers its own, and what others
//   left before them. A single write that finds somebody delivering, or changes of a follower ahead
//   of its own, leaves its change to that one and returns: an admission never tells of a list.
//   Handlers do not wait, and do not follow.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/turn.h"
#include "kube/cache/object_meta.h"
#include "wire/json_reader.h"

namespace berth::kube {

// Receives the index keys of one object, none or many.
using EmitKey = wire::FunctionRef<void(std::string_view key)>;

class StoreCore {
 public:
  using Object = std::shared_ptr<const void>;
  using MetaOf = const ObjectMeta& (*)(const void* object);
  using IndexFunction = std::function<void(const void* object, EmitKey emit)>;
  using Visitor = wire::FunctionRef<void(const Object& object)>;
  struct Change {
    Object before;
    Object after;
    bool initial;
  };
  using Handler = std::function<void(const Change& change)>;

  explicit StoreCore(MetaOf meta_of);
  ~StoreCore();

  // Before the first write only.
  void add_index(std::string name, IndexFunction keys_of);
  void on_change(Handler handler);
  void on_progress(std::function<void()> callback);

  Object get(std::string_view ns, std::string_view name) const;
  // Visitors run under the lock: they only copy.
  void visit_all(Visitor visit) const;
  void visit_index(std::string_view index, std::string_view key, Visitor visit) const;
  std::size_t size() const;
  bool synced() const;
  ResourceVersion seen() const;

  // True when it changed the store.
  bool put(Object object);
  bool erase(const ObjectKey& key, std::string_view uid, ResourceVersion at);
  void advance(ResourceVersion seen);

  void begin_list();
  void list_item(Object object);
  // The list has this object, but it could not be read: what is known of it stays.
  void keep_listed(const ObjectKey& key);
  // The list has an object that could not even be told: nothing is deleted at its end.
  void keep_unlisted();
  // Fails with `expired` when the server's history went back (it was restored from a backup). The
  // next list then replaces everything, newer versions too.
  Result<> end_list(ResourceVersion at);
  void abandon_list();

 private:
  struct Tables;
  // Who brings a change: somebody with one write, or the task that follows the server.
  enum class Writer : std::uint8_t { single, follower };
  struct Tombstone {
    ObjectKey key;
    ResourceVersion at;
  };
  // Deletions ahead of `seen`: ours, between the answer and the watch event.
  static constexpr std::size_t kMaxTombstones = 1024;

  bool is_news(const ObjectMeta& meta, const void* before) const REQUIRES(mu_);
  void apply(const Object& before, Object after, Writer by) REQUIRES(mu_);
  void set_seen(ResourceVersion seen) REQUIRES(mu_);
  void remove_unlisted(ResourceVersion at) REQUIRES(mu_);
  struct Pending {
    Change change;
    Writer by;
  };
  struct Batch {
    std::vector<Change> changes{};
    bool progress = false;
    bool all_listed = false;
  };
  void deliver(Writer who);
  void deliver_all(Writer who) REQUIRES(turn_);
  bool has_left(Writer who) const;
  // What `who` may deliver now; empty: nothing, and it is nobody's turn any more.
  Batch next_batch(Writer who) REQUIRES(turn_);
  void tell(const Batch& batch) REQUIRES(turn_);

  const MetaOf meta_of_;
  std::vector<Handler> handlers_;                     // fixed before the first write
  std::vector<std::function<void()>> on_progress_{};  // likewise

  mutable Mutex mu_;
  const std::unique_ptr<Tables> tables_ GUARDED_BY(mu_);
  std::vector<Tombstone> tombstones_ GUARDED_BY(mu_);
  ResourceVersion seen_ GUARDED_BY(mu_) = 0;
  bool listed_once_ GUARDED_BY(mu_) = false;        // a whole list was applied ...
  bool synced_ GUARDED_BY(mu_) = false;             // ... and delivered
  bool keep_unlisted_ GUARDED_BY(mu_) = false;      // of the list under way
  bool history_restarted_ GUARDED_BY(mu_) = false;  // versions in store mean nothing any more

  Turn turn_;  // held while handlers run; before mu_, and only a follower waits for it
  std::deque<Pending> pending_ GUARDED_BY(mu_);
  bool progress_pending_ GUARDED_BY(mu_) = false;
  bool delivering_ GUARDED_BY(mu_) = false;
};

}  // namespace berth::kube
