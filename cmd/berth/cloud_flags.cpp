#include "cloud_flags.h"

#include <CLI/CLI.hpp>

namespace berth::cmd {

void add_credential_options(CLI::App& command, app::Config& config) {
  command.add_option("--tencent-credentials-secret", config.credentials_secret,
                     "A Secret of our namespace with the keys of Tencent, by its name, with the "
                     "entries TENCENTCLOUD_ACCESS_KEY_ID and TENCENTCLOUD_ACESS_KEY; in place of "
                     "the environment's, and followed when it changes.");
  // The second spelling of each is bcs-ingress-controller's.
  CLI::Option* const scope = command.add_flag(
      "--is-namespace-scope,--is_namespace_scope", config.namespace_credentials,
      "Clouds are called for the objects of a namespace with the keys in its own Secret "
      "ingress-secret.networkextension.bkbcs.tencent.com, and with no others. Ingresses lead to "
      "Services and workloads of their own namespace alone.");
  command
      .add_option(
          "--namespace-scope-exempt-namespaces,--namespace_scope_exempt_namespaces",
          config.exempt_namespaces,
          "Namespaces that use the keys of the controller all the same, and whose Ingresses "
          "may lead elsewhere; separated by commas.")
      ->delimiter(',')
      ->needs(scope);
}

std::vector<std::string> credential_arguments(const app::Config& config) {
  std::vector<std::string> out;
  if (!config.credentials_secret.empty())
    out.push_back("--tencent-credentials-secret=" + config.credentials_secret);
  if (config.namespace_credentials) out.emplace_back("--is-namespace-scope");
  std::string exempt;
  for (const std::string& ns : config.exempt_namespaces)
    exempt.append(exempt.empty() ? "" : ",").append(ns);
  if (!exempt.empty()) out.push_back("--namespace-scope-exempt-namespaces=" + exempt);
  return out;
}

}  // namespace berth::cmd
