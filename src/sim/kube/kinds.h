// The kinds that the server serves: a table of built-in ones, and those that
// CustomResourceDefinitions add. A Kind is immutable and shared; the registry is guarded by the
// server's lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kube/api_error.h"
#include "sim/kube/table_columns.h"

namespace berth::sim::kube {

class Schema;

// Where the numbers of a `scale` subresource lie, as JSON pointers.
struct ScalePointers {
  std::string spec_replicas{};
  std::string status_replicas{};
  std::string selector{};  // a text, or of built-in kinds an object; empty: none
};

// What names an object of a kind may have.
enum class NameRule : std::uint8_t { subdomain, label, path_segment };

struct Version {
  std::string name{};
  // Of a kind that is served in two groups (Event): the other group.
  std::string other_group{};
  bool served = true;
  bool storage = true;
  bool status_subresource = false;
  std::optional<ScalePointers> scale{};
  std::string deprecation_warning{};
  TableColumns columns{};
  // Custom kinds alone have these two.
  std::shared_ptr<const Schema> schema{};
  std::shared_ptr<const wire::Value> openapi{};  // the schema as it was written
};

struct Kind {
  std::string group{};
  std::string plural{};
  std::string singular{};
  std::string kind{};
  std::string list_kind{};
  std::vector<std::string> short_names{};
  std::vector<std::string> categories{};
  std::vector<Version> versions{};
  bool namespaced = true;
  bool custom = false;
  bool question = false;  // can only be posted, and is answered instead of stored
  bool has_generation = false;
  bool unconditional_update = true;  // a PUT needs no resourceVersion
  bool create_on_update = false;     // a PUT may create
  bool returns_deleted = false;      // DELETE answers with the object instead of a Status
  bool deletes_many = true;          // DELETE of the collection is allowed
  NameRule names = NameRule::subdomain;

  GroupResource resource() const { return {group, plural}; }
  GroupResource group_kind() const { return {group, kind}; }
  const Version* version(std::string_view name) const;
  const Version& storage_version() const;
  const std::string& group_of(const Version& version) const {
    return version.other_group.empty() ? group : version.other_group;
  }
  std::string api_version(const Version& version) const {
    const std::string& of = group_of(version);
    return of.empty() ? version.name : of + "/" + version.name;
  }
};
using KindPtr = std::shared_ptr<const Kind>;

// A kind in the version that a request asks for.
struct ServedKind {
  KindPtr kind{};
  const Version* version = nullptr;  // lives in `kind`

  std::string api_version() const { return kind->api_version(*version); }
  // Objects are stored in another version of this built-in kind, and look different there.
  bool converts() const { return !kind->custom && version != &kind->storage_version(); }
};

class Kinds {
 public:
  // Starts with the built-in kinds.
  Kinds();

  std::optional<ServedKind> find(const GroupResource& resource, std::string_view version) const;
  KindPtr find(const GroupResource& resource) const;
  // The kind of that name within a group.
  KindPtr find_kind(std::string_view group, std::string_view kind) const;
  void put(Kind kind);
  void remove(const GroupResource& resource);
  std::vector<KindPtr> all() const;
  bool has_builtin_group(std::string_view group) const;

 private:
  std::map<GroupResource, KindPtr> kinds_;
};

}  // namespace berth::sim::kube
