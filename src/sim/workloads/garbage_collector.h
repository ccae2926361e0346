// Deletes what has lost its owners, serves the deletion policies Foreground and Orphan, and empties
// namespaces that are being deleted.
//
// It watches the metadata of every kind that the server has; custom kinds come and go with their
// definitions. One worker, so its tables need no lock. Owned by the set of controllers.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "kube/cache/core_types.h"
#include "kube/cache/informer.h"
#include "kube/runtime/controller.h"
#include "kube/runtime/manager.h"
#include "sim/workloads/garbage.h"

namespace berth::workloads {

class GarbageCollector {
 public:
  GarbageCollector(Tasks& tasks, kube::Client& client, Random random);
  ~GarbageCollector();

  void add_to(kube::Manager& manager);
  // Before anything that it was handed is destroyed, and after the manager has ended.
  void stop();

 private:
  struct MetaOnly {
    kube::ObjectMeta meta;
  };
  struct Kind;
  static kube::Projection<MetaOnly> meta_projection(const kube::ResourceType& type);

  Result<kube::Requeue> reconcile(const Context& context, const kube::ObjectKey& key);
  Result<> find_kinds(const Context& context);
  void watch_kind(const kube::ResourceType& type);
  Result<> look_at(const Context& context, Kind& kind, const kube::ObjectKey& key);
  void look_at_dependents(const std::string& owner_uid);
  void look_at_owner(const std::string& uid);
  Result<OwnerState> state_of(const Context& context, const kube::OwnerReference& owner,
                              std::string_view ns);
  Result<> count_dependents(const Context& context, GarbageView& view);
  Result<> take(const Context& context, Kind& kind, const kube::ObjectMeta& meta,
                const GarbageStep& step);
  Result<> release_dependents(const Context& context, const std::string& owner_uid);
  Result<kube::Requeue> empty_namespace(const Context& context, const std::string& name);
  Result<bool> remove_all(const Context& context, const kube::ResourceType& type,
                          const std::string& ns);

  Tasks& tasks_;
  kube::Client& client_;
  Random random_;
  std::stop_source stop_;
  std::map<std::string, std::unique_ptr<Kind>> kinds_;  // by "plural.group"
  std::vector<kube::ResourceType> all_kinds_;           // those that are not watched included
  kube::Informer<kube::Namespace> namespaces_;
  kube::Informer<MetaOnly> definitions_;
  kube::Controller controller_;
};

}  // namespace berth::workloads
