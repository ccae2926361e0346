#include "kube/cache/store_core.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cassert>

namespace berth::kube {
namespace {

using Object = StoreCore::Object;
using MetaOf = StoreCore::MetaOf;

struct KeyView {
  std::string_view ns;
  std::string_view name;
};

// Hash and equality of objects by their key, which lives in the object alone: sets of object
// pointers store no key beside it. By text, not by address, so that the order is the same in every
// run.
struct ByKey {
  using is_transparent = void;
  MetaOf meta_of;

  KeyView view(const Object& object) const {
    const ObjectMeta& meta = meta_of(object.get());
    return {meta.ns.view(), meta.name};
  }
  KeyView view(const KeyView& key) const { return key; }

  template <class Key>
  std::size_t operator()(const Key& key) const {
    const KeyView v = view(key);
    const std::hash<std::string_view> hash;
    return combine_hash(hash(v.name), hash(v.ns));
  }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    const KeyView x = view(a);
    const KeyView y = view(b);
    return x.name == y.name && x.ns == y.ns;
  }
};

using ObjectSet = boost::unordered_flat_set<Object, ByKey, ByKey>;

// The objects of one or, when their hashes are equal, several keys of an index. Most have one or a
// few objects, and a set would cost them more than it saves.
struct Bucket {
  struct Many {
    ObjectSet objects;
    std::string key;
    bool pure;  // every object is here because of `key`
  };

  static constexpr std::size_t kFew = 16;

  bool empty() const { return many ? many->objects.empty() : few.empty(); }

  std::vector<Object> few;
  std::unique_ptr<Many> many;
};

// Small buckets do not keep their key: a lookup asks the index function again whether an object
// really has it.
class Index {
 public:
  Index(std::string index_name, StoreCore::IndexFunction keys_of)
      : name(std::move(index_name)), keys_of_(std::move(keys_of)) {}

  std::string name;

  void insert(const Object& object, const ByKey& by_key) {
    keys_of_(object.get(),
             [&](std::string_view key) { insert(buckets_[hash_of(key)], key, object, by_key); });
  }

  void erase(const Object& object) {
    keys_of_(object.get(), [&](std::string_view key) {
      const auto at = buckets_.find(hash_of(key));
      if (at == buckets_.end()) return;
      Bucket& bucket = at->second;
      if (bucket.many) {
        bucket.many->objects.erase(object);
      } else {
        std::erase(bucket.few, object);
      }
      if (bucket.empty()) buckets_.erase(at);
    });
  }

  void visit(std::string_view key, StoreCore::Visitor visitor) const {
    const auto at = buckets_.find(hash_of(key));
    if (at == buckets_.end()) return;
    for (const Object& object : at->second.few) {
      if (has_key(object, key)) visitor(object);
    }
    const auto& many = at->second.many;
    if (!many) return;
    const bool sure = many->pure && many->key == key;
    for (const Object& object : many->objects) {
      if (sure || has_key(object, key)) visitor(object);
    }
  }

 private:
  static std::size_t hash_of(std::string_view key) { return std::hash<std::string_view>{}(key); }

  void insert(Bucket& bucket, std::string_view key, const Object& object, const ByKey& by_key) {
    if (bucket.many) {
      bucket.many->pure = bucket.many->pure && bucket.many->key == key;
      bucket.many->objects.insert(object);
      return;
    }
    auto& few = bucket.few;
    if (std::find(few.begin(), few.end(), object) != few.end()) return;
    few.push_back(object);
    if (few.size() <= Bucket::kFew) return;
    const bool pure =
        std::all_of(few.begin(), few.end(), [&](const Object& o) { return has_key(o, key); });
    bucket.many = std::make_unique<Bucket::Many>(
        Bucket::Many{ObjectSet(few.begin(), few.end(), 0, by_key, by_key), std::string(key), pure});
    few = {};
  }

  bool has_key(const Object& object, std::string_view wanted) const {
    bool found = false;
    keys_of_(object.get(), [&](std::string_view key) { found = found || key == wanted; });
    return found;
  }

  StoreCore::IndexFunction keys_of_;
  boost::unordered_flat_map<std::size_t, Bucket> buckets_;
};

}  // namespace

struct StoreCore::Tables {
  explicit Tables(MetaOf meta_of) : by_key{meta_of}, objects(0, by_key, by_key) {}

  Object find(KeyView key) const {
    const auto at = objects.find(key);
    return at == objects.end() ? nullptr : *at;
  }
  Object find(const ObjectMeta& meta) const { return find(KeyView{meta.ns.view(), meta.name}); }

  ByKey by_key;
  ObjectSet objects;
  std::vector<Index> indexes;
  // Of the list under way. Held, so that no address is used again meanwhile; never iterated.
  boost::unordered_flat_set<Object> listed;
};

StoreCore::StoreCore(MetaOf meta_of)
    : meta_of_(meta_of), tables_(std::make_unique<Tables>(meta_of)) {}
StoreCore::~StoreCore() = default;

void StoreCore::add_index(std::string name, IndexFunction keys_of) {
  const MutexLock lock(mu_);
  assert(tables_->objects.empty());
  tables_->indexes.emplace_back(std::move(name), std::move(keys_of));
}

void StoreCore::on_change(Handler handler) { handlers_.push_back(std::move(handler)); }

void StoreCore::on_progress(std::function<void()> callback) {
  on_progress_.push_back(std::move(callback));
}

StoreCore::Object StoreCore::get(std::string_view ns, std::string_view name) const {
  const MutexLock lock(mu_);
  return tables_->find({ns, name});
}

void StoreCore::visit_all(Visitor visit) const {
  const MutexLock lock(mu_);
  for (const Object& object : tables_->objects) visit(object);
}

void StoreCore::visit_index(std::string_view index, std::string_view key, Visitor visit) const {
  const MutexLock lock(mu_);
  const auto& indexes = tables_->indexes;
  const auto at =
      std::find_if(indexes.begin(), indexes.end(), [&](const Index& i) { return i.name == index; });
  assert(at != indexes.end() && "no index of that name was added");
  at->visit(key, visit);
}

std::size_t StoreCore::size() const {
  const MutexLock lock(mu_);
  return tables_->objects.size();
}

bool StoreCore::synced() const {
  const MutexLock lock(mu_);
  return synced_;
}

ResourceVersion StoreCore::seen() const {
  const MutexLock lock(mu_);
  return seen_;
}

bool StoreCore::is_news(const ObjectMeta& meta, const void* before) const {
  const ResourceVersion version = meta.resource_version;
  if (version == 0) return true;  // made by hand: nothing to compare
  if (before != nullptr) return version > meta_of_(before).resource_version;
  if (version <= seen_) return false;  // it was there and is deleted
  return std::none_of(tombstones_.begin(), tombstones_.end(), [&](const Tombstone& stone) {
    return version <= stone.at && stone.key.name == meta.name && meta.ns == stone.key.ns;
  });
}

// One of the two may be null. Notes the change for `deliver`.
void StoreCore::apply(const Object& before, Object after, Writer by) {
  const bool same = before && after && meta_of_(before.get()).uid == meta_of_(after.get()).uid;
  const bool initial = !listed_once_;
  if (before) {
    for (Index& index : tables_->indexes) index.erase(before);
    tables_->objects.erase(before);
    if (!same) pending_.push_back({{before, nullptr, initial}, by});
  }
  if (after) {
    tables_->objects.insert(after);
    for (Index& index : tables_->indexes) index.insert(after, tables_->by_key);
    pending_.push_back({{same ? before : nullptr, std::move(after), initial}, by});
  }
}

bool StoreCore::put(Object object) {
  {
    const MutexLock lock(mu_);
    const ObjectMeta& meta = meta_of_(object.get());
    const Object before = tables_->find(meta);
    if (!is_news(meta, before.get())) return false;
    apply(before, std::move(object), Writer::single);
  }
  deliver(Writer::single);
  return true;
}

bool StoreCore::erase(const ObjectKey& key, std::string_view uid, ResourceVersion at) {
  {
    const MutexLock lock(mu_);
    if (at > seen_) {
      if (tombstones_.size() == kMaxTombstones) tombstones_.erase(tombstones_.begin());
      tombstones_.push_back({key, at});
    }
    const Object before = tables_->find({key.ns, key.name});
    if (!before) return false;
    const ObjectMeta& meta = meta_of_(before.get());
    if (meta.resource_version > at || (!uid.empty() && meta.uid != uid)) return false;
    apply(before, nullptr, Writer::single);
  }
  deliver(Writer::single);
  return true;
}

void StoreCore::set_seen(ResourceVersion seen) {
  seen_ = seen;
  progress_pending_ = true;
  std::erase_if(tombstones_, [&](const Tombstone& stone) { return stone.at <= seen; });
}

void StoreCore::advance(ResourceVersion seen) {
  {
    const MutexLock lock(mu_);
    if (seen <= seen_) return;
    set_seen(seen);
  }
  deliver(Writer::follower);
}

void StoreCore::begin_list() {
  const MutexLock lock(mu_);
  tables_->listed.clear();
  keep_unlisted_ = false;
}

void StoreCore::list_item(Object object) {
  {
    const MutexLock lock(mu_);
    const ObjectMeta& meta = meta_of_(object.get());
    const Object before = tables_->find(meta);
    const bool newer = !before || meta.resource_version > meta_of_(before.get()).resource_version;
    const bool taken = newer || history_restarted_;
    tables_->listed.insert(taken ? object : before);
    if (!taken) return;
    apply(before, std::move(object), Writer::follower);
  }
  deliver(Writer::follower);
}

void StoreCore::keep_listed(const ObjectKey& key) {
  const MutexLock lock(mu_);
  if (const Object known = tables_->find({key.ns, key.name})) tables_->listed.insert(known);
}

void StoreCore::keep_unlisted() {
  const MutexLock lock(mu_);
  keep_unlisted_ = true;
}

void StoreCore::remove_unlisted(ResourceVersion at) {
  if (keep_unlisted_) return;
  std::vector<Object> gone;
  for (const Object& object : tables_->objects) {
    if (tables_->listed.contains(object)) continue;
    // Written after the list's snapshot by ourselves: the watch will tell what became of it.
    if (meta_of_(object.get()).resource_version > at && !history_restarted_) continue;
    gone.push_back(object);
  }
  for (const Object& object : gone) apply(object, nullptr, Writer::follower);
}

Result<> StoreCore::end_list(ResourceVersion at) {
  {
    const MutexLock lock(mu_);
    if (at < seen_ && !history_restarted_) {
      history_restarted_ = true;
      tables_->listed = {};
      return fail(Code::expired, "the list is at version {}, but {} was seen before", at, seen_);
    }
    remove_unlisted(at);
    tables_->listed = {};
    history_restarted_ = false;
    listed_once_ = true;
    set_seen(at);
  }
  deliver(Writer::follower);
  return {};
}

void StoreCore::abandon_list() {
  const MutexLock lock(mu_);
  tables_->listed = {};
}

void StoreCore::deliver(Writer who) {
  if (who == Writer::follower) {
    turn_.lock();
    deliver_all(who);
    turn_.unlock();
  }
  // Who does not get the turn leaves its change to the one that has it: that one looks once more
  // after it has given the turn back.
  while (has_left(who) && turn_.try_lock()) {
    deliver_all(who);
    turn_.unlock();
  }
}

// Whoever delivers takes along what came meanwhile; and a follower with changes here is on its way.
bool StoreCore::has_left(Writer who) const {
  const MutexLock lock(mu_);
  if (delivering_ || pending_.empty()) return false;
  return who == Writer::follower || pending_.front().by == Writer::single;
}

void StoreCore::deliver_all(Writer who) {
  for (;;) {
    const Batch batch = next_batch(who);
    if (batch.changes.empty() && !batch.progress) return;
    tell(batch);
  }
}

StoreCore::Batch StoreCore::next_batch(Writer who) {
  const MutexLock lock(mu_);
  Batch batch;
  while (!pending_.empty()) {
    if (who == Writer::single && pending_.front().by == Writer::follower) break;
    batch.changes.push_back(std::move(pending_.front().change));
    pending_.pop_front();
  }
  if (who == Writer::follower) {
    batch.progress = std::exchange(progress_pending_, false);
    batch.all_listed = listed_once_;
  }
  delivering_ = !batch.changes.empty() || batch.progress;
  return batch;
}

void StoreCore::tell(const Batch& batch) {
  for (const Change& change : batch.changes) {
    for (const Handler& handler : handlers_) handler(change);
  }
  if (!batch.progress) return;
  {
    const MutexLock lock(mu_);
    synced_ = synced_ || batch.all_listed;
  }
  for (const auto& callback : on_progress_) callback();
}

}  // namespace berth::kube
