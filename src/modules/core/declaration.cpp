#include "api/listener.h"
#include "api/load_balancer.h"
#include "api/port_block.h"
#include "controllers/install/plan.h"
#include "module/namespace_config.h"
#include "modules/core/module.h"

namespace berth::modules::core {

using controllers::install::kCertificateSecret;
using controllers::install::kKeysSecret;
using controllers::install::kLeaseName;

namespace {

std::vector<module::Access> access_for(const module::Config& config) {
  std::vector<module::Access> out{{.resources = {"events"}, .verbs = {"create", "patch"}}};
  if (!config.namespace_credentials) return out;
  out.push_back({.resources = {"secrets"},
                 .verbs = {"get"},
                 .names = {std::string(module::kNamespaceSecret)}});
  const kube::ResourceType configs = module::controller_config_type();
  out.push_back({.group = configs.group,
                 .resources = {configs.plural},
                 .verbs = {"get"},
                 .names = {std::string(module::kNamespaceConfig)}});
  // Whether a namespace whose Secret is gone goes itself.
  out.push_back({.resources = {"namespaces"}, .verbs = {"get"}});
  return out;
}

std::vector<module::Access> namespace_access_for(const module::Config& config) {
  const kube::ResourceType& leases = kube::types::kLease;
  // By name: who may read all Secrets of a namespace has all of its keys.
  std::vector<module::Access> out{
      {leases.group, {leases.plural}, {"create"}},
      {leases.group, {leases.plural}, {"get", "update"}, {std::string(kLeaseName)}},
      {"", {"secrets"}, {"create"}},
      {"",
       {"secrets"},
       {"get", "update"},
       {std::string(kCertificateSecret), std::string(kKeysSecret)}}};
  if (!config.credentials_secret.empty())
    out.push_back({"", {"secrets"}, {"get"}, {config.credentials_secret}});
  return out;
}

}  // namespace

module::Declaration declare(const module::Config& config) {
  const kube::ResourceType& leases = kube::types::kLease;
  return {
      .name = "core",
      .about = "Listeners, load balancers and leadership",
      .is_core = true,
      .kinds =
          {// The lock of its port: who deletes one cuts players off, and takes the claim with it.
           {.info = &api::listener_kind(),
            .place = 20,
            .guard = module::Guard{.of_deletion = true,
                                   .remedy = "change its owner (a PortPool, an Ingress) or the Pod "
                                             "instead, and leave out what begins with berth.dev/"}},
           {.info = &api::load_balancer_kind(), .place = 40},
           {.info = &api::port_block_kind(), .place = 50}},
      .reads = {{.type = api::listener_kind().type},
                {.type = api::load_balancer_kind().type},
                {.type = api::port_block_kind().type}},
      .access = access_for(config),
      .namespace_access = namespace_access_for(config),
      // Claims must find a seat while bulk work (everything else of ours) fills its own. And a
      // leader whose renewal queues behind bulk work of its own would lose the lead at the moment
      // when there is most to do: leases have the level that every cluster has for them.
      .levels = {{"berth-bulk", 20}},
      .flows = {{"berth-lease",
                 "leader-election",
                 850,
                 {{{"get", "create", "update"}, leases.group, leases.plural}}},
                {"berth-bulk", "berth-bulk", 950, {{{"*"}, "*", "*"}}}}};
}

}  // namespace berth::modules::core
