// The objects, their versions and the recent changes. Owned by the server and guarded by its lock;
// the objects themselves are immutable and may be read by anyone who holds a pointer.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kube/api_error.h"
#include "wire/value.h"

namespace berth::sim::kube {

using ObjectPtr = std::shared_ptr<const wire::Value>;

// "ns/name", or the name alone for cluster-scoped objects: sorted as lists show them.
std::string storage_key(std::string_view ns, std::string_view name);

struct Change {
  std::uint64_t version = 0;
  GroupResource resource{};
  std::string key{};
  ObjectPtr before{};  // null when the object was created
  ObjectPtr after{};   // null when it was deleted
  // What an event of this change shows: `after`, or the last state under the version of the
  // deletion.
  ObjectPtr shown{};
};

class Storage {
 public:
  using Objects = std::map<std::string, ObjectPtr, std::less<>>;

  explicit Storage(std::size_t history_changes) : history_limit_(history_changes) {}

  // As another one was at a version; what was before is forgotten.
  void begin_with(std::map<GroupResource, Objects> objects, std::uint64_t version);

  // Of the last write.
  std::uint64_t version() const { return version_; }
  // Changes up to this version are forgotten.
  std::uint64_t compacted() const { return compacted_; }

  ObjectPtr find(const GroupResource& resource, std::string_view key) const;
  const Objects& all(const GroupResource& resource) const;
  const std::map<GroupResource, Objects>& everything() const { return objects_; }
  // The objects as they were at a version, in `scratch` unless they are the same as now. Null when
  // that version is forgotten.
  const Objects* at(const GroupResource& resource, std::uint64_t version, Objects& scratch) const;

  // Stores the object under the next version, which it carries from then on.
  const Change& put(const GroupResource& resource, const std::string& key, wire::Value object);
  // The object must be there.
  const Change& remove(const GroupResource& resource, const std::string& key);

  // Those of a resource after a version, oldest first.
  std::vector<Change> changes_since(const GroupResource& resource, std::uint64_t version) const;
  void compact();

 private:
  const Change& record(Change change);

  const std::size_t history_limit_;
  // Clients take version 0 for "any", so the first object must not get it.
  std::uint64_t version_ = 1;
  std::uint64_t compacted_ = 0;
  std::map<GroupResource, Objects> objects_;
  std::deque<Change> history_;
};

}  // namespace berth::sim::kube
