// The Services and Pods that an Ingress may lead to, read once: for those who look at an Ingress
// without the controller's caches.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/context.h"
#include "controllers/ingress/backends.h"
#include "kube/client/client.h"

namespace berth::controllers::ingress {

// Of the Services and workloads that it names.
std::set<std::string> namespaces_of(const api::Ingress& ingress);

class Surroundings {
 public:
  Surroundings() { add_indexes(pods_); }

  // As an API server has them. What cannot be read is left out.
  void add_pods(const std::vector<wire::Value>& objects);
  void add_services(const std::vector<wire::Value>& objects);
  Sight sight() const { return {pods_, services_}; }

 private:
  kube::Store<kube::Pod> pods_;
  kube::Store<kube::Service> services_;
};

// The objects of these namespaces that the caller may see. `unseen` hears of the others, "pods of
// games".
struct AroundIngress {
  std::vector<wire::Value> pods{};
  std::vector<wire::Value> services{};
};
Result<AroundIngress> read_around(const Context& context, kube::Client& client,
                                  const std::set<std::string>& namespaces,
                                  std::vector<std::string>& unseen);

}  // namespace berth::controllers::ingress
