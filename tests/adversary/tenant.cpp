#include "tenant.h"

#include <boost/json.hpp>

namespace berth::adversary {
namespace {

using namespace std::chrono_literals;
using kube::ResourceType;
using testing::eventually;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr auto kPatience = 60s;
constexpr std::string_view kName = "mallory";
const ResourceType kRole{"rbac.authorization.k8s.io", "v1", "roles", "Role"};
const ResourceType kRoleBinding{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"};

Object editor_rule(std::string_view group, Array resources) {
  return {{"apiGroups", Array{Value(group)}},
          {"resources", std::move(resources)},
          {"verbs", Array{"get", "list", "watch", "create", "update", "patch", "delete",
                          "deletecollection"}}};
}

Array editor_rules() {
  return {editor_rule("", Array{"pods", "configmaps", "secrets", "services", "serviceaccounts"}),
          editor_rule("apps", Array{"deployments", "statefulsets", "replicasets"}),
          editor_rule("coordination.k8s.io", Array{"leases"}),
          editor_rule(api::listener_kind().type.group,
                      Array{"portpools", "portpools/status", "listeners", "portbindings",
                            "portbindings/status"})};
}

Result<> only(Result<Value> made) { return made ? Result<>{} : fail(made.error()); }

Object meta(const std::string& ns, std::string_view name) {
  return {{"namespace", ns}, {"name", name}};
}

}  // namespace

std::string pointer(std::string_view prefix, std::string_view key) {
  return fmt::format("{}/{}", prefix, wire::escape_pointer_step(key));
}

std::string_view annotation(const Value& object, std::string_view key) {
  return wire::string_at(object, pointer("/metadata/annotations", key));
}

Value annotate(std::string_view key, std::string_view value) {
  return Object{{"metadata", Object{{"annotations", Object{{key, value}}}}}};
}

Value take_off(std::string_view annotation_key) {
  return Object{{"metadata", Object{{"annotations", Object{{annotation_key, nullptr}}}}}};
}

Value copy_of(const Value& object, const std::string& ns, const std::string& name) {
  Value out = object;
  for (const char* field : {"uid", "resourceVersion", "creationTimestamp", "managedFields",
                            "generation", "deletionTimestamp", "deletionGracePeriodSeconds"})
    wire::remove_at(out, std::string("/metadata/") + field);
  Object& metadata = out.as_object()["metadata"].as_object();
  metadata["namespace"] = ns;
  if (!name.empty()) metadata["name"] = name;
  return out;
}

Result<std::unique_ptr<Tenant>> Tenant::make(BerthCluster& cluster, net::Transport& transport,
                                             const std::string& name, Place place) {
  std::unique_ptr<Tenant> out(new Tenant(cluster, name, std::move(place)));
  cluster.make_namespace(out->ns());
  (void)cluster.create(Object{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Object{{"name", out->plain()}}}});
  for (const std::string& ns : {out->ns(), out->plain()})
    if (Result<> done = out->grant_rights(ns); !done) return fail(done.error());
  if (Result<> done = out->sign_in(transport); !done) return fail(done.error());
  return out;
}

Result<> Tenant::grant_rights(const std::string& ns) {
  kube::Client& admin = cluster_.client();
  const Object role{{"metadata", meta(ns, kName)}, {"rules", editor_rules()}};
  if (Result<> done = only(admin.create(cluster_.context(), kRole, role)); !done) return done;
  const Object binding{
      {"metadata", meta(ns, kName)},
      {"roleRef", Object{{"apiGroup", kRole.group}, {"kind", kRole.kind}, {"name", kName}}},
      {"subjects", Array{Object{{"kind", "ServiceAccount"}, {"name", kName}, {"namespace", ns_}}}}};
  return only(admin.create(cluster_.context(), kRoleBinding, binding));
}

Result<> Tenant::sign_in(net::Transport& transport) {
  kube::Client& admin = cluster_.client();
  const auto& type = kube::types::kServiceAccount;
  const Object account{{"metadata", meta(ns_, kName)}};
  if (Result<> done = only(admin.create(cluster_.context(), type, account)); !done) return done;
  const Object question{{"apiVersion", "authentication.k8s.io/v1"},
                        {"kind", "TokenRequest"},
                        {"metadata", meta(ns_, kName)},
                        {"spec", Object{}}};
  Result<Value> answer = admin.create(cluster_.context(), type, question, {.subresource = "token"});
  if (!answer) return fail(answer.error());
  token_ = wire::string_at(*answer, "/status/token");
  const auto tls = std::make_shared<net::TlsSettings>();
  tls->ca_pem = cluster_.plane().ca_pem();
  client_ = std::make_unique<kube::Client>(
      transport,
      kube::fixed_config(cluster_.plane().url(), {.tls = tls, .bearer_token = Secret(token_)}));
  return {};
}

Result<Value> Tenant::create(const ResourceType& type, const Value& object) {
  return client_->create(cluster_.context(), type, object);
}
Result<Value> Tenant::get(const ResourceType& type, const std::string& ns,
                          const std::string& name) {
  return client_->get(cluster_.context(), type, {ns, name});
}
Result<Value> Tenant::merge(const ResourceType& type, const std::string& ns,
                            const std::string& name, const Value& patch,
                            const std::string& subresource) {
  return client_->patch(cluster_.context(), type, {ns, name}, kube::PatchType::merge, patch,
                        {.subresource = subresource});
}
Result<> Tenant::remove(const ResourceType& type, const std::string& ns, const std::string& name) {
  return client_->remove(cluster_.context(), type, {ns, name});
}

testing::CommandResult Tenant::kubectl(std::vector<std::string> args, std::string_view input) {
  args.insert(args.begin(),
              {fmt::format("--as=system:serviceaccount:{}:{}", ns_, kName), "--namespace", ns_});
  return cluster_.plane().kubectl(std::move(args), input);
}

PoolItem Tenant::item() const {
  return {.load_balancers = {place_.load_balancer},
          .start = place_.first,
          .end = place_.first + place_.ports};
}

Result<> Tenant::ask_for_pool() {
  return only(create(api::port_pool_kind().type, pool(ns_, "rooms", {item()})));
}

Result<> Tenant::ask_for_room(const std::string& name) {
  return only(create(kube::types::kPod, bare_room(ns_, name)));
}

std::string Tenant::wait_for_pool() {
  Value last;
  const bool ready = eventually(kPatience, [&] {
    last = cluster_.get(api::port_pool_kind().type, ns_, "rooms").value_or(Value());
    return wire::string_at(last, "/status/status") == api::kReady;
  });
  return ready ? "" : "the pool is not Ready: " + wire::to_json(last);
}

std::string Tenant::wait_for_room(const std::string& name) {
  const bool ready = eventually(kPatience, [&] {
    const Room found = room(name);
    return found.ready && found.told == api::kReady && !found.deleting;
  });
  const Result<Value> pod = cluster_.get(kube::types::kPod, ns_, name);
  return ready ? ""
               : fmt::format("{}/{} is not Ready: {}", ns_, name,
                             pod ? wire::to_json(*pod) : pod.error().to_string());
}

Room Tenant::room(const std::string& name) {
  const Result<Value> pod = cluster_.get(kube::types::kPod, ns_, name);
  return pod ? room_of(*pod) : Room{};
}

std::string Tenant::is_led_to(const Room& room) {
  if (!room.ready || room.told != api::kReady) return room.name + " is not Ready";
  const Result<api::Listener> listener = api::decode_listener(listener_of(room.name));
  if (!listener) return listener.error().to_string();
  const auto claim = claims::claim_of(*listener);
  if (!claim || claim->pod_uid != room.uid) return "the claim is not of " + room.name;
  const auto& group = listener->spec.target_group;
  if (!group || group->backends.size() != 1 || group->backends.front().ip != room.ip)
    return "the Listener does not lead to " + room.name;
  return claims::is_applied(*listener) ? "" : "the load balancer does not lead to " + room.name;
}

Value Tenant::listener_of(const std::string& name) {
  const Room found = room(name);
  if (found.ports.empty()) return {};
  const auto lb = model::parse_load_balancer(found.ports.front().load_balancer_ids.front(), {});
  return cluster_
      .get(api::listener_kind().type, ns_,
           api::pool_listener_name(*lb, model::Protocol::tcp, api::ports_of(found.ports.front())))
      .value_or(Value());
}

std::vector<Value> Tenant::listeners() { return cluster_.list(api::listener_kind().type, ns_); }

Value Tenant::free_listener() {
  for (const Value& listener : listeners())
    if (annotation(listener, ledger::kClaimAnnotation).empty()) return listener;
  return {};
}

}  // namespace berth::adversary
