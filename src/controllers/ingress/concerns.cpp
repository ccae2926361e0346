#include "controllers/ingress/concerns.h"

#include <algorithm>
#include <set>

namespace berth::controllers::ingress {
namespace {

template <class Visit>
void for_each_route(const api::Ingress& ingress, const Visit& visit) {
  for (const api::IngressRule& rule : ingress.spec.rules) {
    for (const api::ServiceRoute& route : rule.services) visit(route);
    for (const api::Layer7Route& layer7 : rule.layer7_routes)
      for (const api::ServiceRoute& route : layer7.services) visit(route);
  }
}

std::string service_key(const api::ServiceRoute& route, const api::Ingress& ingress) {
  return fmt::format("{}/{}", namespace_or(route.service_namespace, ingress.meta.ns.view()),
                     route.service_name);
}

}  // namespace

void add_indexes(kube::Store<api::Ingress>& ingresses) {
  ingresses.add_index(std::string(kServiceIndex),
                      [](const api::Ingress& ingress, kube::EmitKey emit) {
                        std::set<std::string> keys;
                        for_each_route(ingress, [&](const api::ServiceRoute& route) {
                          keys.insert(service_key(route, ingress));
                        });
                        for (const std::string& key : keys) emit(key);
                      });
  ingresses.add_index(std::string(kNamespaceIndex),
                      [](const api::Ingress& ingress, kube::EmitKey emit) {
                        const std::string_view own = ingress.meta.ns.view();
                        std::set<std::string> keys;
                        for_each_route(ingress, [&](const api::ServiceRoute& route) {
                          keys.emplace(namespace_or(route.service_namespace, own));
                        });
                        for (const api::PortMapping& mapping : ingress.spec.port_mappings)
                          keys.emplace(namespace_or(mapping.workload_namespace, own));
                        for (const std::string& key : keys) emit(key);
                      });
}

bool concerns(const api::Ingress& ingress, const kube::Pod& pod,
              const kube::Store<kube::Service>& services) {
  const std::string_view own = ingress.meta.ns.view();
  const bool is_mapped =
      std::ranges::any_of(ingress.spec.port_mappings, [&](const api::PortMapping& mapping) {
        return namespace_or(mapping.workload_namespace, own) == pod.meta.ns.view() &&
               pod.meta.name.starts_with(mapping.workload_name + "-");
      });
  if (is_mapped) return true;
  bool is_selected = false;
  for_each_route(ingress, [&](const api::ServiceRoute& route) {
    if (is_selected || namespace_or(route.service_namespace, own) != pod.meta.ns.view()) return;
    const auto service = services.get(pod.meta.ns.view(), route.service_name);
    is_selected = service && selects(*service, pod);
    // The labels of a subset count before those of the Service.
    is_selected = is_selected || (service && !route.subsets.empty());
  });
  return is_selected;
}

bool matters(const kube::Change<kube::Pod>& change) {
  if (!change.before || !change.after) return true;
  const kube::Pod& a = *change.before;
  const kube::Pod& b = *change.after;
  return a.phase != b.phase || a.ips != b.ips || a.host_ip != b.host_ip ||
         a.meta.deleting != b.meta.deleting || a.meta.labels != b.meta.labels ||
         a.ports != b.ports || a.meta.uid != b.meta.uid ||
         a.condition("ContainersReady") != b.condition("ContainersReady") ||
         kube::get(a.meta.annotations, kWeightAnnotation) !=
             kube::get(b.meta.annotations, kWeightAnnotation);
}

}  // namespace berth::controllers::ingress
