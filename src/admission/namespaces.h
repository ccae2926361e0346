// Which namespaces there are and what labels they have: from the cache, and from the API server
// where the cache does not know it yet. Thread-safe; works on every replica.
//
// API servers send us only Pods of namespaces that have the label; whoever else posts to the
// webhook chooses what he likes.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/context.h"
#include "kube/cache/core_types.h"
#include "kube/cache/store.h"
#include "kube/client/client.h"

namespace berth::admission {

class Namespaces {
 public:
  using Labels = std::map<std::string, std::string>;
  using Rule = std::function<bool(const Labels& labels)>;

  Namespaces(kube::Client& client, const kube::Store<kube::Namespace>& store)
      : client_(client), store_(store) {}

  // Whether its labels are so. `not_found`: there is no such namespace.
  Result<bool> fits(const Context& context, const std::string& ns, const Rule& rule) const;
  // `forbidden`: its Pods may not use port pools.
  Result<> need_inject_label(const Context& context, const std::string& ns) const;

 private:
  kube::Client& client_;
  const kube::Store<kube::Namespace>& store_;
};

}  // namespace berth::admission
