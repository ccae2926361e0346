// StoreTarget<T> decodes what a reflector brings and writes it to a store. One object that cannot
// be decoded stops nothing: it is counted and logged, and its last good version stays.
//
// Owned by its Informer; called by the reflector's task alone.
#pragma once

#include <atomic>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "kube/cache/projection.h"
#include "kube/cache/reflector.h"
#include "kube/cache/store.h"
#include "metrics/registry.h"

namespace berth::kube {

// Counts and logs objects that could not be decoded.
class UndecodableReport {
 public:
  UndecodableReport(metrics::Registry* registry, const ResourceType& type);
  void add(const ObjectKey& key, const Error& error);
  // It is gone, or can be read now.
  void remove(const ObjectKey& key);
  // Of a list: what it does not report is no longer there.
  void begin_list() { listed_.clear(); }
  void end_list();

  // How many there are at this moment; any thread may ask.
  std::size_t count() const { return count_; }

 private:
  std::string resource_;
  metrics::Counter* counter_;  // null: nobody counts
  std::set<ObjectKey> there_;
  std::set<ObjectKey> listed_;
  std::atomic<std::size_t> count_{0};
};

template <class T>
class StoreTarget final : public ReflectorTarget {
 public:
  StoreTarget(Store<T>& store, Projection<T> projection, metrics::Registry* registry)
      : store_(store),
        projection_(std::move(projection)),
        undecodable_(registry, projection_.type) {}

  ResourceVersion seen() const override { return store_.seen(); }
  void begin_list() override {
    undecodable_.begin_list();
    store_.begin_list();
  }
  Result<> end_list(ResourceVersion at) override {
    undecodable_.end_list();
    return store_.end_list(at);
  }
  void abandon_list() override { store_.abandon_list(); }
  void bookmark(ResourceVersion at) override { store_.advance(at); }

  void list_item(Encoding encoding, std::string_view object) override {
    auto decoded = decode(encoding, object);
    if (decoded) return store_.list_item(std::move(*decoded));
    const ObjectIdentity who = report(encoding, object, decoded.error());
    const bool known = !who.key.name.empty() && who.key.ns.empty() != projection_.type.namespaced;
    if (known) {
      store_.keep_listed(who.key);
    } else {
      store_.keep_unlisted();
    }
  }

  void event(EventType type, Encoding encoding, std::string_view object) override {
    auto decoded = decode(encoding, object);
    if (!decoded) {
      const ObjectIdentity who = report(encoding, object, decoded.error());
      if (type == EventType::deleted) {
        undecodable_.remove(who.key);
        store_.erase(who.key, who.uid, who.resource_version);
      }
      store_.advance(who.resource_version);
      return;
    }
    const ResourceVersion version = decoded->meta.resource_version;
    undecodable_.remove(decoded->meta.key());
    if (type == EventType::deleted) {
      store_.erase(decoded->meta.key(), decoded->meta.uid, version);
    } else {
      store_.put(std::move(*decoded));
    }
    store_.advance(version);
  }

  // Objects that the server has and that cannot be read: of them the store has an old version, or
  // nothing. Any thread may ask.
  std::size_t undecodable() const { return undecodable_.count(); }

 private:
  Result<T> decode(Encoding encoding, std::string_view object) {
    if (encoding == Encoding::json) return projection_.from_json(reader_, object);
    if (!projection_.from_protobuf) return fail(Code::unsupported, "it came as protobuf");
    return projection_.from_protobuf(object);
  }
  ObjectIdentity report(Encoding encoding, std::string_view object, const Error& error) {
    ObjectIdentity who = identify(encoding, reader_, object);
    undecodable_.add(who.key, error);
    return who;
  }

  Store<T>& store_;
  const Projection<T> projection_;
  UndecodableReport undecodable_;
  wire::JsonReader reader_;
};

}  // namespace berth::kube
