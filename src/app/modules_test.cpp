#include "app/modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <set>

#include "app/app.h"
#include "base/file.h"
#include "controllers/install/access.h"
#include "controllers/install/manifests.h"
#include "kube/client/test_fake_transport.h"
#include "wire/yaml.h"

namespace berth::app {
namespace {

using controllers::install::Wanted;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

using Names = std::vector<std::string>;

module::Declarations without(const Names& names) {
  return module::without(all_declarations(), names).value();
}

const std::vector<Names> kSets{{},
                               {"port-pools"},
                               {"host-ports"},
                               {"ingress"},
                               {"port-pools", "ingress"},
                               {"port-pools", "host-ports", "ingress"}};

// "pods: get list watch", a line for each rule.
std::set<std::string> lines_of(const wire::Array& rules) {
  std::set<std::string> out;
  const auto joined = [](const wire::Value& rule, std::string_view path, char by) {
    std::string text;
    for (const wire::Value& one : *wire::array_at(rule, path))
      text += (text.empty() ? "" : std::string(1, by)) + std::string(one.as_string());
    return text;
  };
  for (const wire::Value& rule : rules) {
    std::string line = joined(rule, "/resources", ',') + ":";
    if (wire::array_at(rule, "/resourceNames")) line += " " + joined(rule, "/resourceNames", ',');
    out.insert(line + " " + joined(rule, "/verbs", ' '));
  }
  return out;
}

std::set<std::string> rights(const Names& off) {
  return lines_of(controllers::install::cluster_rules(without(off), false));
}

// Users apply the file; the controller installs what the tables say. They must be the same.
TEST(Modules, TheCrdsInTheRepositoryAreCurrent) {
  const char* source = std::getenv("BERTH_SOURCE_DIR");
  ASSERT_TRUE(source) << "run by ctest";
  const auto file = read_file(std::string(source) + "/deploy/crds/crds.yaml", 1u << 20);
  ASSERT_TRUE(file) << file.error().to_string();
  const auto found = wire::parse_yaml_documents(*file);
  ASSERT_TRUE(found) << found.error().to_string();
  const auto kinds = module::kinds_of(all_declarations());
  ASSERT_EQ(found->size(), kinds.size());
  for (std::size_t i = 0; i < found->size(); ++i) {
    EXPECT_EQ(wire::to_yaml((*found)[i]), wire::to_yaml(api::crd_of(*kinds[i].info)))
        << "run: berth crds > deploy/crds/crds.yaml";
  }
}

TEST(Modules, AreSoundInEverySet) {
  for (const Names& off : kSets) EXPECT_THAT(module::flaws_of(without(off)), IsEmpty());
}

TEST(Modules, RunWhatTheyDeclare) {
  for (const Names& off : kSets) {
    kube::testing::JumpingTasks tasks;
    kube::testing::FakeTransport transport;
    Config config;
    config.without = off;
    const App app(tasks, transport, std::make_shared<kube::ClusterConfig>(), config, {}, Random(1));
    EXPECT_THAT(app.flaws(), IsEmpty());
  }
}

// All that the controller may do in a cluster, with every set of modules. A line more is a right
// more: say why in its module.
TEST(Modules, HaveTheseRightsAndNoOthers) {
  const std::set<std::string> installed{"customresourcedefinitions: list watch create",
                                        "flowschemas: list watch create",
                                        "mutatingwebhookconfigurations: list watch create",
                                        "mutatingwebhookconfigurations: berth get update patch",
                                        "prioritylevelconfigurations: list watch create",
                                        "validatingwebhookconfigurations: list watch create",
                                        "validatingwebhookconfigurations: berth get update patch"};
  const std::set<std::string> core{"events: create patch",
                                   "listeners: get list watch create update patch delete",
                                   "loadbalancers: get list watch create update patch delete",
                                   "loadbalancers/status: update patch",
                                   "portblocks: get list watch create update patch delete"};
  const std::set<std::string> pods{"pods: get list watch"};
  const std::set<std::string> pools{"pods/status: patch",
                                    "namespaces: get list watch",
                                    "replicasets,statefulsets: list",
                                    "replicasets/status,statefulsets/status: patch",
                                    "gamestatefulsets: get list",
                                    "gamestatefulsets/status: patch",
                                    "portpools: get list watch update patch",
                                    "portpools/status: update patch",
                                    "portbindings: get list watch create update patch delete",
                                    "portbindings/status: update patch"};
  const std::string bkbcs = ".networkextension.bkbcs.tencent.com";
  const std::string few = "customresourcedefinitions: listeners" + bkbcs +
                          ",loadbalancers.berth.dev,portblocks.berth.dev get update patch";
  const auto all = [&](const std::string& ingresses) {
    return "customresourcedefinitions: portpools" + bkbcs + ingresses + ",listeners" + bkbcs +
           ",portbindings" + bkbcs +
           ",loadbalancers.berth.dev,portblocks.berth.dev get update patch";
  };
  const std::set<std::string> ingress{"ingresses: get list watch update patch",
                                      "services: get list watch", "pods/status: patch"};
  const auto join = [](std::initializer_list<std::set<std::string>> sets) {
    std::set<std::string> out;
    for (const auto& set : sets) out.insert(set.begin(), set.end());
    return out;
  };
  const std::set<std::string> with_claims{
      "flowschemas: berth-lease,berth-claims,berth-bulk get update patch",
      "prioritylevelconfigurations: berth-claims,berth-bulk get update patch"};
  const std::set<std::string> without_claims{
      few, "flowschemas: berth-lease,berth-bulk get update patch",
      "prioritylevelconfigurations: berth-bulk get update patch"};
  const std::set<std::string> both{all(",ingresses" + bkbcs)};
  EXPECT_EQ(rights({}), join({installed, core, pods, pools, ingress, with_claims, both}));
  EXPECT_EQ(rights({"host-ports"}),
            join({installed, core, pods, pools, ingress, with_claims, both}));
  EXPECT_EQ(rights({"ingress"}), join({installed, core, pods, pools, with_claims, {all("")}}));
  EXPECT_EQ(rights({"port-pools", "ingress"}), join({installed, core, pods, without_claims}));
  EXPECT_EQ(rights({"port-pools", "host-ports", "ingress"}),
            join({installed, core, without_claims}));
}

TEST(Modules, ReadSecretsByName) {
  for (const Names& off : kSets) {
    const auto lines = lines_of(controllers::install::namespace_rules(without(off)));
    EXPECT_THAT(lines, ElementsAre("leases: berth get update", "leases: create",
                                   "secrets: berth-webhook-certificate,berth-keys get update",
                                   "secrets: create"));
    for (const std::string& line : rights(off)) EXPECT_EQ(line.find("secrets"), std::string::npos);
  }
}

// Memory for each Pod: 100,000 of them are kept.
TEST(Modules, KeepOfAPodWhatTheyRead) {
  const auto kept = [](const Names& off) {
    return module::read_of(without(off), kube::types::kPod);
  };
  ASSERT_TRUE(kept({"ingress"}));
  EXPECT_FALSE(kept({"ingress"})->meta.labels.all);
  EXPECT_EQ(kept({"ingress"})->meta.labels.prefixes.size(), 1u);
  EXPECT_EQ(kept({"ingress"})->meta.annotations.prefixes.size(), 5u);
  EXPECT_FALSE(kept({"ingress"})->meta.owners);
  EXPECT_FALSE(kept({"ingress"})->meta.finalizers);
  EXPECT_THAT(kept({"port-pools", "ingress"})->meta.annotations.prefixes, IsEmpty());
  EXPECT_THAT(kept({"port-pools", "ingress"})->meta.labels.prefixes, IsEmpty());
  EXPECT_FALSE(kept({"port-pools", "host-ports", "ingress"}));
  // Services select by any label; the Pods of one template share theirs, and their owner.
  EXPECT_TRUE(kept({})->meta.labels.all);
  EXPECT_TRUE(kept({})->meta.owners);
  EXPECT_EQ(kept({})->meta.annotations.prefixes.size(), 6u);
  EXPECT_FALSE(kept({})->meta.finalizers);
}

std::vector<std::string> printed(const Names& off, std::string_view kind) {
  std::vector<std::string> out;
  for (const Wanted& one : controllers::install::manifests(
           {.modules = without(off), .without = off, .with_webhooks = true})) {
    if (one.type.kind != kind) continue;
    const wire::Array* hooks = wire::array_at(one.object, "/webhooks");
    if (!hooks) out.push_back(one.name());
    for (const wire::Value& hook : hooks ? *hooks : wire::Array{})
      out.emplace_back(wire::string_at(hook, "/name"));
  }
  return out;
}

TEST(Modules, ThatAreOffAreNotPrinted) {
  EXPECT_THAT(printed({"port-pools"}, "MutatingWebhookConfiguration"),
              ElementsAre("host-ports.berth.dev"));
  EXPECT_THAT(printed({"port-pools", "ingress"}, "ValidatingWebhookConfiguration"), IsEmpty());
  EXPECT_THAT(printed({"port-pools"}, "ValidatingWebhookConfiguration"),
              ElementsAre("ingresses.berth.dev"));
  EXPECT_THAT(printed({"host-ports"}, "MutatingWebhookConfiguration"),
              ElementsAre("pod-ports.berth.dev"));
  EXPECT_THAT(printed({}, "MutatingWebhookConfiguration"),
              ElementsAre("host-ports.berth.dev", "pod-ports.berth.dev"));
  EXPECT_THAT(printed({"port-pools"}, "ValidatingAdmissionPolicy"), ElementsAre("berth-listeners"));
  EXPECT_THAT(printed({"port-pools"}, "PriorityLevelConfiguration"), ElementsAre("berth-bulk"));
}

// The controller must leave out the same.
TEST(Modules, ThatAreOffAreToldToTheController) {
  const auto args = [](const Names& off) {
    for (const Wanted& one :
         controllers::install::manifests({.modules = without(off), .without = off})) {
      if (one.type.kind == "Deployment")
        return wire::to_json(*wire::find(one.object, "/spec/template/spec/containers/0/args"));
    }
    return std::string();
  };
  EXPECT_NE(args({"host-ports"}).find("--without=host-ports"), std::string::npos);
  EXPECT_EQ(args({}).find("--without"), std::string::npos);
}

}  // namespace
}  // namespace berth::app
