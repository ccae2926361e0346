#include "preview/house.h"

#include <boost/json.hpp>
#include <set>

#include "api/decode.h"

namespace berth::preview {
namespace {

using wire::Value;

template <class T, class Decode>
void fill(kube::Store<T>& store, const std::vector<Value>& objects, const Decode& decode) {
  std::vector<T> list;
  kube::ResourceVersion newest = 1;
  for (const Value& object : objects) {
    if (Result<T> one = decode(object)) {
      newest = std::max(newest, one->meta.resource_version);
      list.push_back(std::move(*one));
    }
  }
  (void)store.replace(std::move(list), newest);
}

// None where the kind is not installed, or not for the caller to see.
Result<std::vector<Value>> list(const Context& context, kube::Client& client,
                                const kube::ResourceType& type, House& house) {
  Result<kube::ListPage> page = client.list_all(context, type);
  if (page) return std::move(page->items);
  if (page.error().code == Code::unsupported || page.error().code == Code::not_found)
    return std::vector<Value>{};
  if (page.error().code != Code::forbidden) return pass(page);
  house.unseen.push_back(type.plural);
  return std::vector<Value>{};
}

Result<> read_existing(const Context& context, kube::Client& client, const Document& document,
                       House& house) {
  Result<Value> found = client.get(context, document.kind->type, document.key);
  if (found) {
    house.add_existing(document, std::move(*found));
    return {};
  }
  const Code code = found.error().code;
  if (code == Code::forbidden) house.unseen.push_back(document.to_string());
  if (code == Code::forbidden || code == Code::not_found || code == Code::unsupported) return {};
  return pass(found);
}

}  // namespace

House::House(const model::LoadBalancerDefaults& defaults) {
  claims::add_indexes(listeners_, defaults);
  claims::add_indexes(balancers_);
  claims::add_indexes(blocks_);
  add_listeners({});
  add_balancers({});
  add_blocks({});
}

void House::add_listeners(const std::vector<Value>& objects) {
  fill(listeners_, objects, api::decode_listener);
}
void House::add_balancers(const std::vector<Value>& objects) {
  fill(balancers_, objects, api::decode_load_balancer);
}
void House::add_blocks(const std::vector<Value>& objects) {
  fill(blocks_, objects, api::decode_port_block);
}
void House::add_around(const controllers::ingress::AroundIngress& around) {
  around_.add_pods(around.pods);
  around_.add_services(around.services);
}
void House::add_existing(const Document& document, Value object) {
  existing_[document.to_string()] = std::move(object);
}
const Value* House::existing(const Document& document) const {
  const auto found = existing_.find(document.to_string());
  return found == existing_.end() ? nullptr : &found->second;
}

Result<> read_house(const Context& context, kube::Client& client, const Documents& documents,
                    House& house) {
  const auto read = [&](const kube::ResourceType& type, const auto& add) -> Result<> {
    Result<std::vector<Value>> objects = list(context, client, type, house);
    if (!objects) return pass(objects);
    add(*objects);
    return {};
  };
  if (Result<> done = read(api::listener_kind().type,
                           [&](const auto& objects) { house.add_listeners(objects); });
      !done)
    return done;
  if (Result<> done = read(api::load_balancer_kind().type,
                           [&](const auto& objects) { house.add_balancers(objects); });
      !done)
    return done;
  if (Result<> done = read(api::port_block_kind().type,
                           [&](const auto& objects) { house.add_blocks(objects); });
      !done)
    return done;
  std::set<std::string> namespaces;
  for (const Document& document : documents.ours) {
    if (Result<> done = read_existing(context, client, document, house); !done) return done;
    if (document.kind != &api::ingress_kind()) continue;
    if (const auto ingress = api::decode_incoming_ingress(document.object))
      namespaces.merge(controllers::ingress::namespaces_of(*ingress));
  }
  Result<controllers::ingress::AroundIngress> around =
      controllers::ingress::read_around(context, client, namespaces, house.unseen);
  if (!around) return pass(around);
  house.add_around(*around);
  return {};
}

}  // namespace berth::preview
