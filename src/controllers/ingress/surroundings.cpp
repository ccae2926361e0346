#include "controllers/ingress/surroundings.h"

#include <boost/json.hpp>

namespace berth::controllers::ingress {
namespace {

using wire::Value;

template <class T>
void add(const kube::Projection<T>& projection, const std::vector<Value>& objects,
         kube::Store<T>& store) {
  wire::JsonReader reader;
  for (const Value& object : objects) {
    const std::string text = wire::to_json(object);
    if (Result<T> decoded = projection.from_json(reader, text)) store.put(std::move(*decoded));
  }
}

Result<> read(const Context& context, kube::Client& client, const kube::ResourceType& type,
              const std::string& ns, std::vector<Value>& out, std::vector<std::string>& unseen) {
  Result<kube::ListPage> page = client.list_all(context, type, {.ns = ns});
  if (!page && page.error().code == Code::forbidden) {
    unseen.push_back(fmt::format("{} of {}", type.plural, ns));
    return {};
  }
  if (!page) return pass(page);
  std::ranges::move(page->items, std::back_inserter(out));
  return {};
}

}  // namespace

std::set<std::string> namespaces_of(const api::Ingress& ingress) {
  const std::string_view own = ingress.meta.ns.view();
  std::set<std::string> out;
  const auto add = [&](const std::vector<api::ServiceRoute>& services) {
    for (const api::ServiceRoute& one : services)
      out.emplace(namespace_or(one.service_namespace, own));
  };
  for (const api::IngressRule& rule : ingress.spec.rules) {
    add(rule.services);
    for (const api::Layer7Route& route : rule.layer7_routes) add(route.services);
  }
  for (const api::PortMapping& mapping : ingress.spec.port_mappings)
    out.emplace(namespace_or(mapping.workload_namespace, own));
  return out;
}

void Surroundings::add_pods(const std::vector<Value>& objects) {
  add(kube::pod_projection(
          {.annotations = kube::KeyFilter::only({std::string(kWeightAnnotation)})}),
      objects, pods_);
}

void Surroundings::add_services(const std::vector<Value>& objects) {
  add(kube::service_projection(), objects, services_);
}

Result<AroundIngress> read_around(const Context& context, kube::Client& client,
                                  const std::set<std::string>& namespaces,
                                  std::vector<std::string>& unseen) {
  AroundIngress out;
  for (const std::string& ns : namespaces) {
    if (Result<> done = read(context, client, kube::types::kPod, ns, out.pods, unseen); !done)
      return pass(done);
    if (Result<> done = read(context, client, kube::types::kService, ns, out.services, unseen);
        !done)
      return pass(done);
  }
  return out;
}

}  // namespace berth::controllers::ingress
