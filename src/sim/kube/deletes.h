// delete and deletecollection: preconditions, grace, finalizers, and what ends with a definition or
// a namespace. Private to this folder; called from any handler.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "sim/kube/writes.h"

namespace berth::sim::kube {

struct DeleteOptions {
  std::optional<std::string> uid{};
  std::optional<std::string> version{};
  std::optional<std::int64_t> grace_seconds{};
  std::string propagation{};
  bool dry_run = false;
};
// From the body, else from the query.
Outcome<DeleteOptions> parse_delete_options(const WriteRequest& request);

// What a deletion answers with: the object, or a Status that names it.
struct Deleted {
  ObjectPtr object{};
  bool gone = false;
};

class Deletes {
 public:
  Deletes(Core& core, Admission& admission) : core_(core), admission_(admission) {}

  Outcome<Deleted> remove(const WriteRequest& request);
  // The objects that were there.
  Outcome<std::vector<ObjectPtr>> remove_collection(const WriteRequest& request);

 private:
  Outcome<Deleted> remove_one(const WriteRequest& request, const std::string& key,
                              const DeleteOptions& options);
  // Empty: somebody wrote in between.
  std::optional<Deleted> commit(const WriteRequest& request, const std::string& key,
                                const ObjectPtr& current, const DeleteOptions& options);

  Core& core_;
  Admission& admission_;
};

// Takes an object away, and with the last one of a definition that waits for it, the definition.
ObjectPtr remove_object(Core& core, const GroupResource& resource, const std::string& key)
    REQUIRES(core.mu);
// For objects that were stored past the rules of writing: serves the kinds of the definitions that
// are there, no others, and ends definitions that waited for nothing more.
void serve_definitions(Core& core) REQUIRES(core.mu);

}  // namespace berth::sim::kube
