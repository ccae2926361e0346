#include "controllers/install/manifests.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <set>

#include "controllers/install/access.h"
#include "controllers/install/removal.h"

namespace berth::controllers::install {
namespace {

using kube::ResourceType;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr int kForwardPort = 9444;
constexpr int kOpsServicePort = 8080;
constexpr int kFirstOpenPort = 1024;  // those below are for root
// As the ports of Pods and Services are called.
constexpr std::string_view kForwardPortName = "forwarded";
// Nobody in particular: the image has no such user, and needs none. tools/image says the same.
constexpr int kUserId = 65532;
// The one place that an edge writes to: HAProxy's configuration, and keys of certificates. Memory,
// of which a runtime's own /dev/shm is small or not there.
constexpr std::string_view kSharedMemory = "/dev/shm";
constexpr std::string_view kSharedMemoryLimit = "128Mi";
constexpr std::string_view kRbac = "rbac.authorization.k8s.io";

const ResourceType kClusterRole{std::string(kRbac), "v1", "clusterroles", "ClusterRole", false};
const ResourceType kClusterRoleBinding{std::string(kRbac), "v1", "clusterrolebindings",
                                       "ClusterRoleBinding", false};
const ResourceType kRole{std::string(kRbac), "v1", "roles", "Role"};
const ResourceType kRoleBinding{std::string(kRbac), "v1", "rolebindings", "RoleBinding"};
const ResourceType kNetworkPolicy{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"};
const ResourceType kDisruptionBudget{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"};

Object labels() { return {{kAppLabel, kAppName}, {kManagedByLabel, kManagedBy}}; }
Object selector() { return {{"matchLabels", Object{{kAppLabel, kAppName}}}}; }

Wanted object(const ResourceType& type, const std::string& ns, std::string_view name,
              const Object& rest) {
  Object metadata{{"name", name}};
  if (type.namespaced) metadata["namespace"] = ns;
  metadata["labels"] = labels();
  Object out{
      {"apiVersion", type.api_version()}, {"kind", type.kind}, {"metadata", std::move(metadata)}};
  for (const auto& member : rest) out[member.key()] = member.value();
  return {type, std::move(out)};
}

Object binding(const ResourceType& role, const std::string& ns) {
  return {{"roleRef", Object{{"apiGroup", kRbac}, {"kind", role.kind}, {"name", kAppName}}},
          {"subjects",
           Array{Object{{"kind", "ServiceAccount"}, {"name", kAppName}, {"namespace", ns}}}}};
}

void add_access(const ManifestOptions& options, std::vector<Wanted>& out) {
  const std::string& ns = options.ns;
  out.push_back(object(kube::types::kServiceAccount, ns, kAppName, {}));
  out.push_back(object(kClusterRole, ns, kAppName,
                       {{"rules", cluster_rules(options.modules, options.with_guard)}}));
  out.push_back(object(kClusterRoleBinding, ns, kAppName, binding(kClusterRole, ns)));
  out.push_back(object(kRole, ns, kAppName, {{"rules", namespace_rules(options.modules)}}));
  out.push_back(object(kRoleBinding, ns, kAppName, binding(kRole, ns)));
}

Object probe(std::string_view path, int period) {
  return {{"httpGet", Object{{"path", path}, {"port", "ops"}}}, {"periodSeconds", period}};
}

bool has_leader_only(const ManifestOptions& options) {
  const auto servers = module::servers_of(options.modules);
  return std::ranges::any_of(servers, &module::Server::leader_only);
}

// Those of modules have a port that others know, or none here.
std::vector<module::Server> served(const ManifestOptions& options) {
  auto out = module::servers_of(options.modules);
  std::erase_if(out, [](const module::Server& one) { return one.port == 0; });
  return out;
}

Array container_ports(const ManifestOptions& options) {
  Array out{Object{{"name", "webhooks"}, {"containerPort", options.webhook_port}},
            Object{{"name", "ops"}, {"containerPort", options.ops_port}}};
  for (const module::Server& one : served(options))
    out.push_back(Object{{"name", one.name}, {"containerPort", one.port}});
  if (has_leader_only(options))
    out.push_back(Object{{"name", kForwardPortName}, {"containerPort", kForwardPort}});
  return out;
}

Object container(const ManifestOptions& options) {
  const auto flag = [](std::string_view name, const auto& value) {
    return Value(fmt::format("--{}={}", name, value));
  };
  Array args{flag("namespace", options.ns),
             flag("service-account", kAppName),
             flag("webhook-address", "0.0.0.0"),
             flag("webhook-port", options.webhook_port),
             flag("webhook-service", kWebhookService),
             flag("ops-address", "0.0.0.0"),
             flag("ops-port", options.ops_port)};
  if (has_leader_only(options)) args.push_back(flag("forward-port", kForwardPort));
  if (!options.with_guard) args.emplace_back("--without-guard");
  for (const std::string& name : options.without) args.push_back(flag("without", name));
  for (const std::string& one : options.edge_addresses) args.push_back(flag("edge-address", one));
  for (const std::string& one : options.arguments) args.emplace_back(one);
  Object out{{"name", kAppName},
             {"image", options.image},
             {"command", Array{"berth", "controller"}},
             {"args", std::move(args)}};
  // Where other replicas reach this one.
  if (has_leader_only(options))
    out["env"] =
        Array{Object{{"name", "POD_IP"},
                     {"valueFrom", Object{{"fieldRef", Object{{"fieldPath", "status.podIP"}}}}}}};
  const Object rest{{"ports", container_ports(options)},
                    {"livenessProbe", probe("/livez", 10)},
                    {"readinessProbe", probe("/readyz", 5)},
                    {"resources", Object{{"requests", Object{{"cpu", "100m"}, {"memory", "128Mi"}}},
                                         {"limits", Object{{"memory", "1Gi"}}}}},
                    {"securityContext", Object{{"allowPrivilegeEscalation", false},
                                               {"readOnlyRootFilesystem", true},
                                               {"capabilities", Object{{"drop", Array{"ALL"}}}}}}};
  for (const auto& member : rest) out[member.key()] = member.value();
  if (!options.edge_addresses.empty())
    out["volumeMounts"] = Array{Object{{"name", "memory"}, {"mountPath", kSharedMemory}}};
  return out;
}

constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";

// Replicas on different nodes, where there are several: the webhooks must not go with one of them.
Object apart() {
  const Object term{{"labelSelector", selector()}, {"topologyKey", kHostnameLabel}};
  return {{"podAntiAffinity", Object{{"preferredDuringSchedulingIgnoredDuringExecution",
                                      Array{Object{{"weight", 100}, {"podAffinityTerm", term}}}}}}};
}

bool is_on_host_network(const ManifestOptions& options) {
  return options.host_network || !options.edge_addresses.empty();
}

Object deployment(const ManifestOptions& options) {
  Object pod{{"serviceAccountName", kAppName},
             {"securityContext", Object{{"runAsNonRoot", true},
                                        {"runAsUser", kUserId},
                                        {"runAsGroup", kUserId},
                                        {"seccompProfile", Object{{"type", "RuntimeDefault"}}}}},
             {"affinity", apart()},
             {"containers", Array{container(options)}}};
  if (!options.edge_addresses.empty()) {
    const Object memory{{"medium", "Memory"}, {"sizeLimit", kSharedMemoryLimit}};
    pod["volumes"] = Array{Object{{"name", "memory"}, {"emptyDir", memory}}};
  }
  if (!options.node.empty()) pod["nodeSelector"] = Object{{kHostnameLabel, options.node}};
  Object spec{
      {"replicas", options.replicas},
      {"selector", selector()},
      {"template", Object{{"metadata", Object{{"labels", labels()}}}, {"spec", std::move(pod)}}}};
  if (is_on_host_network(options)) {
    wire::Object& inner = spec["template"].as_object()["spec"].as_object();
    inner["hostNetwork"] = true;
    inner["dnsPolicy"] = "ClusterFirstWithHostNet";
    // A new Pod has no room on a node whose ports the old one has.
    spec["strategy"] = Object{{"type", "RollingUpdate"},
                              {"rollingUpdate", Object{{"maxSurge", 0}, {"maxUnavailable", 1}}}};
  }
  return {{"spec", std::move(spec)}};
}

Object service(const ManifestOptions& options) {
  Array ports{Object{{"name", "webhooks"}, {"port", 443}, {"targetPort", "webhooks"}},
              Object{{"name", "ops"}, {"port", kOpsServicePort}, {"targetPort", "ops"}}};
  for (const module::Server& one : served(options))
    ports.push_back(Object{{"name", one.name}, {"port", one.port}, {"targetPort", one.name}});
  return {{"spec", Object{{"selector", Object{{kAppLabel, kAppName}}}, {"ports", ports}}}};
}

// The ops port stays open: kubelets probe it, and Prometheus reads it. So do those of modules,
// which are for the whole cluster; what replicas hand on comes from replicas.
Object network_policy(const ManifestOptions& options) {
  Array from;
  for (const std::string& cidr : options.apiserver_cidrs)
    from.push_back(Object{{"ipBlock", Object{{"cidr", cidr}}}});
  const auto port = [](std::string_view name) {
    return Object{{"protocol", "TCP"}, {"port", name}};
  };
  Array open{port("ops")};
  for (const module::Server& one : served(options)) open.push_back(port(one.name));
  Array rules{Object{{"from", std::move(from)}, {"ports", Array{port("webhooks")}}},
              Object{{"ports", std::move(open)}}};
  if (has_leader_only(options))
    rules.push_back(Object{{"from", Array{Object{{"podSelector", selector()}}}},
                           {"ports", Array{port(kForwardPortName)}}});
  return {{"spec", Object{{"podSelector", selector()},
                          {"policyTypes", Array{"Ingress"}},
                          {"ingress", std::move(rules)}}}};
}

Settings settings_of(const ManifestOptions& options) {
  const std::string& ns = options.ns;
  return {.webhooks = {.service_namespace = ns, .service_name = std::string(kWebhookService)},
          .identity = {.service_account_namespace = ns, .service_account = std::string(kAppName)},
          .modules = options.modules,
          .without = options.without,
          .guard = options.with_guard};
}

// Harmless before the controller runs: nobody is refused because it does not answer yet. It puts
// the authority in, and `Fail` where it belongs.
Wanted waiting(Wanted hook) {
  Array* hooks = hook.object.as_object()["webhooks"].if_array();
  for (Value& one : *hooks) {
    wire::remove_at(one, "/clientConfig/caBundle");
    one.as_object()["failurePolicy"] = "Ignore";
  }
  return hook;
}

// Whoever applies this wants Berth to be there: a removal that was begun and not finished is taken
// back.
void take_removal_back(Wanted& crd) {
  if (crd.name() != marked_crd()) return;
  crd.object.as_object()["metadata"].as_object()["annotations"] =
      Object{{kRemovalAnnotation, to_string(Removal::none)}};
}

}  // namespace

Result<> check_cidr(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string address(text.substr(0, slash));
  std::array<unsigned char, 16> bytes{};
  const bool four = inet_pton(AF_INET, address.c_str(), bytes.data()) == 1;
  const bool six = !four && inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1;
  const std::string_view digits = slash < text.size() ? text.substr(slash + 1) : std::string_view();
  int bits = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  if ((four || six) && whole && bits >= 0 && bits <= (four ? 32 : 128)) return {};
  return fail(error_of(Code::invalid, "'{}' is no range of addresses", text)
                  .with_hint("for example 192.0.2.7/32 or 2001:db8::/64"));
}

Result<> check_together(const ManifestOptions& options) {
  const auto wrong = [](std::string_view flag, std::string message, std::string hint) {
    return fail(
        error_of(Code::invalid, "{}", message).about(std::string(flag)).with_hint(std::move(hint)));
  };
  if (!options.edge_addresses.empty() && options.node.empty()) {
    return wrong("--edge-address", "the controller must run on the node that has these addresses",
                 "add --node NAME; `kubectl get nodes` lists them");
  }
  if (!options.node.empty() && options.replicas > 1) {
    return wrong(
        "--replicas",
        fmt::format("{} replicas do not fit with --node: one runs there", options.replicas),
        "use --replicas 1, or leave --node out");
  }
  if (is_on_host_network(options) && !options.apiserver_cidrs.empty()) {
    return wrong("--apiserver-cidr", "a NetworkPolicy does not hold in the network of a node",
                 "leave it out, and close the ports in the firewall of the node");
  }
  const std::set<int> ports{options.webhook_port, options.ops_port, kForwardPort};
  if (ports.size() < 3 || *ports.begin() < kFirstOpenPort) {
    return wrong(
        "--webhook-port, --ops-port",
        fmt::format("{} and {} do not go together", options.webhook_port, options.ops_port),
        fmt::format("two different ports from {} on, and not {}", kFirstOpenPort, kForwardPort));
  }
  return {};
}

bool is_shared_namespace(std::string_view ns) { return ns == "default" || ns.starts_with("kube-"); }

std::vector<Wanted> manifests(const ManifestOptions& options) {
  const std::string& ns = options.ns;
  const Settings settings = settings_of(options);
  std::vector<Wanted> out;
  if (!is_shared_namespace(ns)) out.push_back(object(kube::types::kNamespace, "", ns, {}));
  for (Wanted& wanted : wanted_objects(settings, "")) {
    take_removal_back(wanted);
    out.push_back(std::move(wanted));
  }
  add_access(options, out);
  out.push_back(object(kube::types::kService, ns, kWebhookService, service(options)));
  out.push_back(object(kube::types::kDeployment, ns, kAppName, deployment(options)));
  if (options.replicas > 1) {
    out.push_back(object(kDisruptionBudget, ns, kAppName,
                         {{"spec", Object{{"minAvailable", 1}, {"selector", selector()}}}}));
  }
  if (!options.apiserver_cidrs.empty())
    out.push_back(object(kNetworkPolicy, ns, kAppName, network_policy(options)));
  if (!options.with_webhooks) return out;
  for (Wanted& wanted : wanted_objects(settings, "to be replaced")) {
    if (wire::array_at(wanted.object, "/webhooks")) out.push_back(waiting(std::move(wanted)));
  }
  return out;
}

}  // namespace berth::controllers::install
