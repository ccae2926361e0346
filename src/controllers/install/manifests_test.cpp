#include "controllers/install/manifests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "app/modules.h"
#include "controllers/install/guard_policy.h"

namespace berth::controllers::install {
namespace {

std::vector<Wanted> printed(ManifestOptions options) {
  options.modules = module::without(app::all_declarations(), options.without).value();
  return manifests(options);
}

const Wanted* find(const std::vector<Wanted>& all, std::string_view kind, std::string_view name) {
  for (const Wanted& one : all) {
    if (one.type.kind == kind && one.name() == name) return &one;
  }
  return nullptr;
}

std::size_t place(const std::vector<Wanted>& all, std::string_view kind) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].type.kind == kind) return i;
  }
  ADD_FAILURE() << kind << " is missing";
  return all.size();
}

TEST(Manifests, ComeInAnOrderThatCanBeApplied) {
  const auto all = printed({});
  EXPECT_EQ(place(all, "Namespace"), 0u);
  EXPECT_LT(place(all, "ServiceAccount"), place(all, "Deployment"));
  EXPECT_LT(place(all, "ClusterRole"), place(all, "ClusterRoleBinding"));
  for (const module::Kind& kind : module::kinds_of(app::all_declarations())) {
    const kube::ResourceType& type = kind.info->type;
    EXPECT_TRUE(find(all, "CustomResourceDefinition", type.plural + "." + type.group));
  }
  std::set<std::string> names;
  for (const Wanted& one : all) {
    EXPECT_EQ(wire::string_at(one.object, "/metadata/labels/app.kubernetes.io~1managed-by"),
              "berth")
        << one.type.kind << ": an uninstall removes what carries the label";
    EXPECT_TRUE(names.insert(one.type.kind + "/" + one.name()).second) << one.name();
    EXPECT_FALSE(wire::array_at(one.object, "/webhooks")) << "the controller installs them";
  }
}

TEST(Manifests, TheControllerRunsWithLittle) {
  const auto all = printed({.ns = "games-infra", .image = "example/berth:7", .replicas = 3});
  const Wanted* app = find(all, "Deployment", "berth");
  ASSERT_TRUE(app);
  EXPECT_EQ(wire::int_at(app->object, "/spec/replicas"), 3);
  EXPECT_EQ(wire::string_at(app->object, "/metadata/namespace"), "games-infra");
  const std::string pod = "/spec/template/spec";
  EXPECT_EQ(wire::bool_at(app->object, pod + "/securityContext/runAsNonRoot"), true);
  const std::string first = pod + "/containers/0";
  EXPECT_EQ(wire::string_at(app->object, first + "/image"), "example/berth:7");
  EXPECT_EQ(wire::string_at(app->object, first + "/args/0"), "--namespace=games-infra");
  EXPECT_EQ(wire::bool_at(app->object, first + "/securityContext/readOnlyRootFilesystem"), true);
  EXPECT_EQ(wire::string_at(app->object, first + "/readinessProbe/httpGet/path"), "/readyz");
  EXPECT_EQ(wire::string_at(app->object, first + "/livenessProbe/httpGet/path"), "/livez");
  const Wanted* flow = find(all, "FlowSchema", "berth-claims");
  ASSERT_TRUE(flow);
  EXPECT_EQ(wire::string_at(flow->object, "/spec/rules/0/subjects/0/serviceAccount/namespace"),
            "games-infra");
}

TEST(Manifests, AnEdgeLivesOnItsNodeAlone) {
  const auto all = printed({.replicas = 1, .edge_addresses = {"lb-1=192.0.2.1"}, .node = "front"});
  const Wanted* app = find(all, "Deployment", "berth");
  ASSERT_TRUE(app);
  const std::string pod = "/spec/template/spec";
  EXPECT_EQ(wire::bool_at(app->object, pod + "/hostNetwork"), true);
  EXPECT_EQ(wire::string_at(app->object, pod + "/dnsPolicy"), "ClusterFirstWithHostNet");
  EXPECT_EQ(wire::string_at(app->object, pod + "/nodeSelector/kubernetes.io~1hostname"), "front");
  const wire::Array& args = *wire::array_at(app->object, pod + "/containers/0/args");
  EXPECT_EQ(std::ranges::count(args, wire::Value("--edge-address=lb-1=192.0.2.1")), 1);
  // Two of them would want the same ports of the node.
  EXPECT_EQ(wire::int_at(app->object, "/spec/strategy/rollingUpdate/maxSurge"), 0);
  EXPECT_EQ(wire::int_at(app->object, "/spec/strategy/rollingUpdate/maxUnavailable"), 1);
  EXPECT_FALSE(find(all, "PodDisruptionBudget", "berth"));
}

// What wants more on a namespace with the Pod security standard `restricted` is refused there.
void expect_restricted(const Wanted& app) {
  const auto json = [&](const std::string& at) {
    const wire::Value* const found = wire::find(app.object, "/spec/template/spec" + at);
    return found ? wire::to_json(*found) : std::string();
  };
  EXPECT_EQ(json("/securityContext"), R"({"runAsNonRoot":true,"runAsUser":65532,)"
                                      R"("runAsGroup":65532,"seccompProfile":{"type":)"
                                      R"("RuntimeDefault"}})");
  // NET_BIND_SERVICE is for root, or for files that have it; low ports are opened 61000 above.
  EXPECT_EQ(json("/containers/0/securityContext"),
            R"({"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,)"
            R"("capabilities":{"drop":["ALL"]}})");
  EXPECT_EQ(json("/containers/0/command"), R"(["berth","controller"])");
}

TEST(Manifests, NothingIsWrittenButTheFilesOfAnEdge) {
  const auto plain = printed({});
  const Wanted* app = find(plain, "Deployment", "berth");
  ASSERT_TRUE(app);
  expect_restricted(*app);
  EXPECT_FALSE(wire::find(app->object, "/spec/template/spec/volumes"));
  const auto edge = printed({.replicas = 1, .edge_addresses = {"lb-1=192.0.2.1"}, .node = "front"});
  app = find(edge, "Deployment", "berth");
  ASSERT_TRUE(app);
  expect_restricted(*app);
  EXPECT_EQ(wire::to_json(*wire::find(app->object, "/spec/template/spec/volumes")),
            R"([{"name":"memory","emptyDir":{"medium":"Memory","sizeLimit":"128Mi"}}])");
  EXPECT_EQ(
      wire::to_json(*wire::find(app->object, "/spec/template/spec/containers/0/volumeMounts")),
      R"([{"name":"memory","mountPath":"/dev/shm"}])");
}

TEST(Manifests, WithoutAnEdgeItKeepsOutOfTheNodesNetwork) {
  const auto all = printed({});
  const Wanted* app = find(all, "Deployment", "berth");
  const auto& pod = wire::find(app->object, "/spec/template/spec")->as_object();
  for (const char* of_nodes : {"hostNetwork", "dnsPolicy", "nodeSelector"})
    EXPECT_FALSE(pod.contains(of_nodes)) << of_nodes;
  EXPECT_FALSE(wire::find(app->object, "/spec/strategy"));
}

TEST(Manifests, OnTheNodesNetworkItsPortsAreChosen) {
  const auto all = printed({.host_network = true, .webhook_port = 10443, .ops_port = 10080});
  const Wanted* app = find(all, "Deployment", "berth");
  const std::string first = "/spec/template/spec/containers/0";
  EXPECT_EQ(wire::int_at(app->object, first + "/ports/0/containerPort"), 10443);
  EXPECT_EQ(wire::int_at(app->object, first + "/ports/1/containerPort"), 10080);
  const wire::Array& args = *wire::array_at(app->object, first + "/args");
  EXPECT_EQ(std::ranges::count(args, wire::Value("--webhook-port=10443")), 1);
  EXPECT_EQ(std::ranges::count(args, wire::Value("--ops-port=10080")), 1);
  const Wanted* service = find(all, "Service", "berth-webhooks");
  EXPECT_EQ(wire::int_at(service->object, "/spec/ports/0/port"), 443) << "callers know these";
  EXPECT_EQ(wire::int_at(service->object, "/spec/ports/1/port"), 8080);
}

TEST(Manifests, OptionsThatDoNotGoTogetherAreNamed) {
  const std::vector<std::string> edge{"lb-1=192.0.2.1"};
  const auto refused = [](const ManifestOptions& options) {
    const Result<> good = check_together(options);
    return good ? std::string() : good.error().object;
  };
  EXPECT_EQ(refused({}), "");
  EXPECT_EQ(refused({.replicas = 1, .edge_addresses = edge, .node = "front"}), "");
  EXPECT_EQ(refused({.replicas = 1, .edge_addresses = edge}), "--edge-address");
  EXPECT_EQ(refused({.replicas = 2, .edge_addresses = edge, .node = "front"}), "--replicas");
  EXPECT_EQ(refused({.host_network = true, .apiserver_cidrs = {"192.0.2.0/24"}}),
            "--apiserver-cidr");
  EXPECT_EQ(refused({.webhook_port = 8080}), "--webhook-port, --ops-port");
  EXPECT_EQ(refused({.ops_port = 9444}), "--webhook-port, --ops-port");
  EXPECT_EQ(refused({.ops_port = 80}), "--webhook-port, --ops-port");
}

// Whether the level of claims takes the call before the one of bulk work does.
bool is_claims_call(const Wanted& flow, std::string_view verb, std::string_view resource) {
  const wire::Array* rules = wire::array_at(flow.object, "/spec/rules/0/resourceRules");
  for (const wire::Value& rule : rules ? *rules : wire::Array{}) {
    const wire::Array& verbs = *wire::array_at(rule, "/verbs");
    const bool has_verb = std::ranges::find(verbs, wire::Value(verb)) != verbs.end();
    if (has_verb && wire::string_at(rule, "/resources/0") == resource) return true;
  }
  return false;
}

// Creating a large pool must not hold back a Pod under admission.
TEST(Manifests, WhatTheWebhookAsksForDoesNotQueueBehindBulkWork) {
  const auto all = printed({});
  const Wanted* claims = find(all, "FlowSchema", "berth-claims");
  const Wanted* bulk = find(all, "FlowSchema", "berth-bulk");
  ASSERT_TRUE(claims && bulk);
  EXPECT_LT(wire::int_at(claims->object, "/spec/matchingPrecedence"),
            wire::int_at(bulk->object, "/spec/matchingPrecedence"));
  for (const char* verb : {"get", "list", "patch"})
    EXPECT_TRUE(is_claims_call(*claims, verb, "listeners")) << verb;
  EXPECT_TRUE(is_claims_call(*claims, "get", "portbindings"));
  for (const char* verb : {"get", "list"}) EXPECT_TRUE(is_claims_call(*claims, verb, "pods"));
  EXPECT_FALSE(is_claims_call(*claims, "create", "listeners")) << "that is how pools are made";
  EXPECT_FALSE(is_claims_call(*claims, "delete", "listeners"));
  EXPECT_FALSE(is_claims_call(*claims, "patch", "pods"));
}

// A leader that waits behind its own bulk work for a seat loses the lease.
TEST(Manifests, TheLeaseIsRenewedBesideBulkWork) {
  const auto all = printed({.ns = "games-infra"});
  const Wanted* lease = find(all, "FlowSchema", "berth-lease");
  const Wanted* claims = find(all, "FlowSchema", "berth-claims");
  ASSERT_TRUE(lease && claims);
  EXPECT_EQ(wire::string_at(lease->object, "/spec/priorityLevelConfiguration/name"),
            "leader-election");
  EXPECT_LT(wire::int_at(lease->object, "/spec/matchingPrecedence"),
            wire::int_at(claims->object, "/spec/matchingPrecedence"));
  for (const char* verb : {"get", "create", "update"})
    EXPECT_TRUE(is_claims_call(*lease, verb, "leases")) << verb;
  EXPECT_EQ(wire::string_at(lease->object, "/spec/rules/0/resourceRules/0/apiGroups/0"),
            "coordination.k8s.io");
}

// Who may read Secrets, and which, in a list of rules: "get tencent-keys".
std::vector<std::string> secrets_in(const Wanted* role) {
  std::vector<std::string> out;
  for (const wire::Value& rule : *wire::array_at(role->object, "/rules")) {
    if (wire::string_at(rule, "/resources/0") != "secrets") continue;
    const wire::Array* const names = wire::array_at(rule, "/resourceNames");
    for (const wire::Value& verb : *wire::array_at(rule, "/verbs")) {
      if (!names) out.push_back(fmt::format("{} *", std::string_view(verb.as_string())));
      for (const wire::Value& name : names ? *names : wire::Array{})
        out.push_back(fmt::format("{} {}", std::string_view(verb.as_string()),
                                  std::string_view(name.as_string())));
    }
  }
  return out;
}

TEST(Manifests, KeysOfCloudsAreReadOnlyWhereThatIsAskedForAndByName) {
  const std::string of_namespaces(module::kNamespaceSecret);
  const auto roles = [](const app::Config& config) {
    ManifestOptions options;
    options.modules = app::all_declarations(config);
    const auto all = manifests(options);
    return std::pair(secrets_in(find(all, "ClusterRole", "berth")),
                     secrets_in(find(all, "Role", "berth")));
  };
  const auto plain = roles({});
  EXPECT_TRUE(plain.first.empty()) << plain.first.front();
  app::Config of_process;
  of_process.credentials_secret = "tencent-keys";
  const auto named = roles(of_process);
  EXPECT_TRUE(named.first.empty());
  EXPECT_EQ(named.second.size(), plain.second.size() + 1);
  EXPECT_EQ(std::ranges::count(named.second, "get tencent-keys"), 1);
  app::Config scoped;
  scoped.namespace_credentials = true;
  const auto each = roles(scoped);
  EXPECT_EQ(each.first, std::vector{"get " + of_namespaces});
  EXPECT_EQ(each.second, plain.second);
}

TEST(Manifests, NobodyGetsEverything) {
  for (const Wanted& one : printed({})) {
    const wire::Array* rules = wire::array_at(one.object, "/rules");
    if (one.type.kind != "ClusterRole" && one.type.kind != "Role") continue;
    ASSERT_TRUE(rules);
    for (const wire::Value& rule : *rules) {
      EXPECT_EQ(wire::to_json(rule).find('*'), std::string::npos) << wire::to_json(rule);
      const bool secrets = wire::string_at(rule, "/resources/0") == "secrets";
      EXPECT_FALSE(secrets && one.type.kind == "ClusterRole") << "only in our own namespace";
    }
  }
}

bool may(const Wanted& role, std::string_view verb, std::string_view resource) {
  const wire::Array* rules = wire::array_at(role.object, "/rules");
  for (const wire::Value& rule : rules ? *rules : wire::Array{}) {
    const wire::Array& resources = *wire::array_at(rule, "/resources");
    const wire::Array& verbs = *wire::array_at(rule, "/verbs");
    if (std::ranges::find(resources, wire::Value(resource)) != resources.end() &&
        std::ranges::find(verbs, wire::Value(verb)) != verbs.end())
      return true;
  }
  return false;
}

// Whoever may patch a workload may run any Pod in its namespace.
TEST(Manifests, WorkloadsCanBeTouchedAndNotRewritten) {
  const auto all = printed({});
  const Wanted* role = find(all, "ClusterRole", "berth");
  ASSERT_TRUE(role);
  for (const std::string kind : {"replicasets", "statefulsets", "gamestatefulsets"}) {
    EXPECT_TRUE(may(*role, "list", kind)) << kind;
    EXPECT_TRUE(may(*role, "patch", kind + "/status")) << kind;
    for (const char* verb : {"patch", "update", "create", "delete"})
      EXPECT_FALSE(may(*role, verb, kind)) << verb << " " << kind;
  }
}

TEST(Manifests, ANetworkPolicyLetsOnlyApiServersReachTheWebhooks) {
  EXPECT_FALSE(find(printed({}), "NetworkPolicy", "berth")) << "only when it is asked for";
  const auto all = printed({.apiserver_cidrs = {"192.0.2.7/32", "2001:db8::/64"}});
  const Wanted* policy = find(all, "NetworkPolicy", "berth");
  ASSERT_TRUE(policy);
  const std::string webhooks = "/spec/ingress/0";
  EXPECT_EQ(wire::string_at(policy->object, webhooks + "/from/1/ipBlock/cidr"), "2001:db8::/64");
  EXPECT_EQ(wire::array_at(policy->object, webhooks + "/from")->size(), 2u);
  EXPECT_EQ(wire::string_at(policy->object, webhooks + "/ports/0/port"), "webhooks");
  EXPECT_FALSE(wire::find(policy->object, "/spec/ingress/1/from")) << "health is for everybody";
  EXPECT_TRUE(check_cidr("10.0.0.0/8"));
  for (const char* bad : {"", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/8x"})
    EXPECT_FALSE(check_cidr(bad)) << bad;
}

TEST(Manifests, WebhooksAreCalledAtASecretPath) {
  Settings settings{.modules = app::all_declarations()};
  settings.webhooks = {.url = "https://192.0.2.1:9443", .segment = "5ec4e7"};
  for (const Wanted& wanted : wanted_objects(settings, "a bundle")) {
    const wire::Array* hooks = wire::array_at(wanted.object, "/webhooks");
    for (const wire::Value& hook : hooks ? *hooks : wire::Array{})
      EXPECT_TRUE(wire::string_at(hook, "/clientConfig/url").ends_with("/5ec4e7"));
    EXPECT_FALSE(has_plain_paths(wanted.object, settings.modules));
  }
  settings.webhooks.segment.clear();
  bool plain = false;
  for (const Wanted& wanted : wanted_objects(settings, "a bundle"))
    plain = plain || has_plain_paths(wanted.object, settings.modules);
  EXPECT_TRUE(plain) << "as the version before had them";
}

TEST(Manifests, ASharedNamespaceIsNotOurs) {
  EXPECT_FALSE(find(printed({.ns = "kube-system"}), "Namespace", "kube-system"));
  EXPECT_FALSE(find(printed({.ns = "default"}), "Namespace", "default"));
  EXPECT_TRUE(find(printed({}), "Namespace", "berth-system"));
}

TEST(Manifests, TheGuardComesWithARightToKeepIt) {
  const auto all = printed({.ns = "games-infra"});
  for (const char* name : {"berth-listeners", "berth-portbindings"}) {
    const Wanted* policy = find(all, "ValidatingAdmissionPolicy", name);
    const Wanted* binding = find(all, "ValidatingAdmissionPolicyBinding", name);
    ASSERT_TRUE(policy && binding) << name;
    EXPECT_EQ(wire::string_at(binding->object, "/spec/policyName"), name);
    EXPECT_EQ(wire::string_at(policy->object, "/spec/failurePolicy"), "Fail");
    const std::string spec = wire::to_json(*wire::find(policy->object, "/spec"));
    for (const char* exempt : {"system:serviceaccount:games-infra:berth",
                               "system:serviceaccount:kube-system:generic-garbage-collector",
                               "system:serviceaccount:kube-system:namespace-controller"})
      EXPECT_NE(spec.find(exempt), std::string::npos) << exempt;
    EXPECT_NE(spec.find("check('repair')"), std::string::npos);
  }
  const Wanted* role = find(all, "ClusterRole", "berth");
  EXPECT_NE(wire::to_json(role->object).find("validatingadmissionpolicies"), std::string::npos);
}

// A PortBinding only tells, and is made again; a Listener is the lock of its port.
TEST(Manifests, TheGuardIsForListenersThatGoAndNotForPortBindings) {
  const auto all = printed({});
  const auto operations = [&](const char* name) {
    const Wanted* policy = find(all, "ValidatingAdmissionPolicy", name);
    return wire::to_json(
        *wire::find(policy->object, "/spec/matchConstraints/resourceRules/0/operations"));
  };
  EXPECT_EQ(operations("berth-listeners"), R"(["CREATE","UPDATE","DELETE"])");
  EXPECT_EQ(operations("berth-portbindings"), R"(["CREATE","UPDATE"])");
}

TEST(Manifests, TheGuardCanBeLeftOutWithAllThatBelongsToIt) {
  const auto all = printed({.with_guard = false});
  for (const Wanted& one : all) EXPECT_FALSE(is_guard(one.type)) << one.name();
  const Wanted* role = find(all, "ClusterRole", "berth");
  EXPECT_EQ(wire::to_json(role->object).find("validatingadmissionpolic"), std::string::npos);
  const Wanted* app = find(all, "Deployment", "berth");
  EXPECT_NE(wire::to_json(app->object).find("--without-guard"), std::string::npos)
      << "the controller would put it back";
}

// A server of a module is reached through our Service; one for the leader alone needs a way from
// replica to replica, which nobody else may take.
TEST(Manifests, ServersOfModulesHaveTheirPorts) {
  ManifestOptions options{.apiserver_cidrs = {"192.0.2.0/28"}};
  options.modules = app::all_declarations();
  options.modules.push_back(
      {.name = "tickets", .about = "numbers", .servers = {{.name = "tickets", .port = 8090}}});
  const auto text = [&](std::string_view kind, std::string_view name, const char* at) {
    const auto all = manifests(options);
    const wire::Value* found = wire::find(find(all, kind, name)->object, at);
    return found ? wire::to_json(*found) : std::string();
  };
  const char* env = "/spec/template/spec/containers/0/env";
  const char* third = "/spec/template/spec/containers/0/ports/2";
  EXPECT_EQ(text("Deployment", "berth", third), R"({"name":"tickets","containerPort":8090})");
  EXPECT_EQ(text("Service", "berth-webhooks", "/spec/ports/2"),
            R"({"name":"tickets","port":8090,"targetPort":"tickets"})");
  EXPECT_EQ(text("NetworkPolicy", "berth", "/spec/ingress/1/ports/1/port"), R"("tickets")");
  EXPECT_EQ(text("Deployment", "berth", env), "");

  options.modules.back().servers[0].leader_only = true;
  EXPECT_NE(text("Deployment", "berth", env).find(R"("fieldPath":"status.podIP")"),
            std::string::npos);
  EXPECT_NE(text("Deployment", "berth", "/spec/template/spec/containers/0/args")
                .find("--forward-port=9444"),
            std::string::npos);
  EXPECT_EQ(text("NetworkPolicy", "berth", "/spec/ingress/2/ports/0/port"), R"("forwarded")");
  EXPECT_EQ(text("NetworkPolicy", "berth", "/spec/ingress/2/from/0/podSelector/matchLabels"),
            R"({"app.kubernetes.io/name":"berth"})");
}

TEST(Manifests, PrintedWebhooksRefuseNobody) {
  const auto all = printed({.with_webhooks = true});
  for (const char* kind : {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}) {
    const Wanted* hook = find(all, kind, "berth");
    ASSERT_TRUE(hook) << kind;
    EXPECT_EQ(wire::string_at(hook->object, "/webhooks/0/failurePolicy"), "Ignore");
    EXPECT_FALSE(wire::find(hook->object, "/webhooks/0/clientConfig/caBundle"));
    EXPECT_EQ(wire::string_at(hook->object, "/webhooks/0/clientConfig/service/name"),
              "berth-webhooks");
  }
}

}  // namespace
}  // namespace berth::controllers::install
