// `berth manifests`

#include "controllers/install/manifests.h"

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "app/modules.h"
#include "cloud_flags.h"
#include "command.h"
#include "edge_flags.h"
#include "modules.h"
#include "wire/yaml.h"

namespace berth::cmd {
namespace {

using controllers::install::ManifestOptions;
using controllers::install::Wanted;

constexpr int kMaxReplicas = 9;

Result<> print_manifests(ManifestOptions options, const app::Config& config, Output output) {
  Result<module::Declarations> on = module::without(app::all_declarations(config), options.without);
  if (!on) return fail(std::move(on.error()).about("--without"));
  options.modules = std::move(*on);
  options.arguments = credential_arguments(config);
  for (const std::string& cidr : options.apiserver_cidrs) {
    if (Result<> good = controllers::install::check_cidr(cidr); !good)
      return fail(std::move(good.error()).about("--apiserver-cidr"));
  }
  if (auto addresses = edge_addresses(options.edge_addresses); !addresses) return pass(addresses);
  if (Result<> good = controllers::install::check_together(options); !good) return pass(good);
  wire::Array list;
  for (const Wanted& wanted : controllers::install::manifests(options)) {
    if (output == Output::json) {
      list.push_back(wanted.object);
    } else {
      std::printf("---\n%s", wire::to_yaml(wanted.object).c_str());
    }
  }
  if (output == Output::json) {
    const wire::Object all{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(list)}};
    std::puts(wire::to_pretty_json(all).c_str());
  }
  return {};
}

}  // namespace

void add_manifests(CLI::App& root, Run& run) {
  CLI::App* command =
      root.add_subcommand("manifests", "Print everything that a cluster needs to run Berth.");
  struct Flags {
    ManifestOptions options{.image = "berth:" BERTH_VERSION};
    app::Config config;
    Output output = Output::text;
  };
  const auto flags = std::make_shared<Flags>();
  add_namespace_option(*command, flags->options.ns);
  command->add_option("--image", flags->options.image, "Image of the controller.")
      ->capture_default_str();
  CLI::Option* const replicas = command
                                    ->add_option("--replicas", flags->options.replicas,
                                                 "How many controllers run; with --node one.")
                                    ->check(CLI::Range(1, kMaxReplicas))
                                    ->capture_default_str();
  add_edge_address_option(*command, flags->options.edge_addresses);
  command->add_option("--node", flags->options.node,
                      "The node that the controller runs on, by its label kubernetes.io/hostname: "
                      "with --edge-address the one that has the addresses.");
  command->add_flag("--host-network", flags->options.host_network,
                    "The controller runs in the network of its node. So it does with "
                    "--edge-address.");
  add_port_option(*command, "--webhook-port", flags->options.webhook_port,
                  "Port of the webhooks in the controller's Pod, or on its node; 9443 by "
                  "default.");
  add_port_option(*command, "--ops-port", flags->options.ops_port,
                  "Port of health and metrics, likewise; 8080 by default.");
  command->add_flag("--with-webhooks", flags->options.with_webhooks,
                    "Print the webhook configurations too. The controller installs them by itself, "
                    "with its authority; these have none and refuse nobody until it has.");
  command->add_option("--apiserver-cidr", flags->options.apiserver_cidrs,
                      "Addresses from which API servers call, as ADDRESS/BITS; may be repeated. "
                      "Adds a NetworkPolicy that lets nobody else reach the webhooks.");
  command->add_flag("!--without-guard", flags->options.with_guard,
                    "Leave out the ValidatingAdmissionPolicies that keep people from writing what "
                    "is ours of Listeners and PortBindings, and the controller's right to them.");
  add_without_option(*command, flags->options.without);
  add_credential_options(*command, flags->config);
  add_output_option(*command, flags->output);
  set_example(*command,
              "berth manifests --image registry.example.com/berth:1.0 | kubectl apply -f -");
  command->callback([&run, flags, replicas] {
    if (!flags->options.node.empty() && replicas->count() == 0) flags->options.replicas = 1;
    run = [flags] { return print_manifests(flags->options, flags->config, flags->output); };
  });
}

}  // namespace berth::cmd
