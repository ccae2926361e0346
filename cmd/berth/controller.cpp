// `berth controller`

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>

#include "app/leader_address.h"
#include "app/modules.h"
#include "app/serve.h"
#include "base/file.h"
#include "base/log.h"
#include "cloud_flags.h"
#include "cluster.h"
#include "controllers/listener/plan.h"
#include "edge_flags.h"
#include "environment.h"
#include "modules.h"
#include "net/curl_transport.h"
#include "providers/edge.h"
#include "providers/tencent.h"
#include "providers/tencent_credentials.h"

namespace berth::cmd {
namespace {

constexpr std::size_t kMaxAuthorityFile = 1u << 20;

struct Flags {
  ClusterFlags cluster;
  std::string log_level = "info";
  std::string host_ports;
  std::string webhook_client_ca;
  std::vector<std::string> edge_addresses;  // "demo=192.0.2.1,192.0.2.2"
  bool edge_on_loopback = false;
  std::size_t edge_per_listener = 0;
  std::size_t edge_per_client = 0;
  std::string cloud = "edge";
  std::string tencent_endpoint;
  std::string tencent_proxy;
  std::string tencent_ca;
  std::string tencent_credentials;  // a file
  app::Config config;
};

// Nobody but this machine reaches loopback: players would be told addresses that lead nowhere, so
// it has to be asked for.
Result<edge::AddressPlan> address_plan(const std::vector<std::string>& flags, bool on_loopback) {
  if (on_loopback) return edge::loopback_plan();
  auto addresses = edge_addresses(flags);
  if (!addresses) return pass(addresses);
  return edge::fixed_plan(*std::move(addresses));
}

bool asks_for_tencent(const Flags& flags) {
  return flags.cloud != "edge" || !flags.tencent_endpoint.empty() ||
         !flags.tencent_credentials.empty() || !flags.config.credentials_secret.empty() ||
         flags.config.namespace_credentials;
}

// Keys are no flags: whoever lists processes reads those. Nothing: it is not used.
Result<std::optional<cloud::tencent::Settings>> tencent_settings(const Flags& flags) {
  Result<std::optional<cloud::tencent::Settings>> out = cloud::tencent::settings_if_used(
      [](std::string_view name) { return environment(std::string(name).c_str()); },
      asks_for_tencent(flags));
  if (!out || !*out) return out;
  cloud::tencent::Options& options = (*out)->options;
  if (!flags.tencent_endpoint.empty()) {
    Result<> set = cloud::tencent::set_endpoint(options, flags.tencent_endpoint);
    if (!set) return fail(std::move(set.error()).about("--tencent-endpoint"));
  }
  if (!flags.tencent_proxy.empty()) options.proxy = flags.tencent_proxy;
  if (!flags.tencent_ca.empty()) {
    Result<std::string> pem = read_file(flags.tencent_ca, kMaxAuthorityFile);
    if (!pem) return fail(std::move(pem.error()).about("--tencent-ca"));
    cloud::tencent::trust(options, std::move(*pem));
  }
  if (!flags.config.load_balancers.region.empty())
    options.region = flags.config.load_balancers.region;
  return out;
}

void add_clouds(CLI::App& command, Flags& flags) {
  command
      .add_option("--cloud", flags.cloud,
                  "Whose load balancers are those that are written without a provider (lb-1, "
                  "ap-nanjing:lb-1): edge, or tencent; edge by default.")
      ->check(CLI::IsMember({"edge", "tencent", "tencentcloud"}));
  command.add_option("--tencent-endpoint", flags.tencent_endpoint,
                     "Where Tencent's CLB API is, as HOST or http://HOST:PORT; "
                     "clb.tencentcloudapi.com by default, or TENCENTCLOUD_CLB_DOMAIN. Keys come "
                     "from TENCENTCLOUD_ACCESS_KEY_ID and TENCENTCLOUD_ACESS_KEY, or "
                     "TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY.");
  CLI::Option* const file = command.add_option(
      "--tencent-credentials", flags.tencent_credentials,
      "File with the keys of Tencent, in lines of NAME=VALUE with the same names; in place of the "
      "environment's, and followed when it changes.");
  add_credential_options(command, flags.config);
  file->excludes(command.get_option("--tencent-credentials-secret"));
  command.add_option("--tencent-proxy", flags.tencent_proxy,
                     "A proxy on the way there, as http://HOST:PORT.");
  command.add_option("--tencent-ca", flags.tencent_ca,
                     "File with the authorities to trust there instead of the system's: of `berth "
                     "sim tencent`, or of a proxy.");
}

CLI::Option* add_seconds(CLI::App& command, const std::string& name, Duration& value,
                         const std::string& help) {
  return command
      .add_option_function<double>(
          name,
          [&value](double seconds) {
            value = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
          },
          help)
      ->check(CLI::Range(0.0, 3600.0));
}

void add_times(CLI::App& command, Flags& flags) {
  app::Config& config = flags.config;
  add_seconds(command, "--lease-seconds", config.lease_duration,
              "How long others wait for a leader that is silent; 15 by default.");
  add_seconds(command, "--renew-deadline-seconds", config.renew_deadline,
              "When a leader that cannot renew its lease stops writing; 10 by default.");
  add_seconds(command, "--lease-retry-seconds", config.lease_retry_period,
              "Between two looks at the lease; 2 by default.");
  add_seconds(command, "--drain-seconds", config.drain,
              "What connections through this process have left when another replica leads; 30 by "
              "default.");
  add_seconds(command, "--quarantine-seconds", config.quarantine,
              "How long a port rests between two Pods; 10 by default.");
  command
      .add_option_function<int>(
          "--max-keep-hours", [&config](int hours) { config.max_keep = std::chrono::hours{hours}; },
          "How long the name of a Pod may keep its ports at the most; 720 by default.")
      ->check(CLI::Range(0, 24 * 3650));
  // Hidden: see app/config.h.
  add_seconds(command, "--claim-lifetime-seconds", config.claim_lifetime, "For tests.")->group("");
}

Result<std::vector<app::DriverPart>> start_drivers(
    Tasks& tasks, net::Transport& to_clouds, net::Transport& transport,
    const std::shared_ptr<const kube::ClusterConfig>& cluster, Flags& flags) {
  Result<edge::AddressPlan> addresses = address_plan(flags.edge_addresses, flags.edge_on_loopback);
  if (!addresses) return pass(addresses);
  Result<app::DriverPart> edge =
      providers::start_edge({.addresses = std::move(*addresses),
                             .connections_per_listener = flags.edge_per_listener,
                             .connections_per_client = flags.edge_per_client,
                             .loopback_targets = flags.edge_on_loopback,
                             .certificates = providers::secret_certificates(transport, cluster)});
  if (!edge) return pass(edge);
  std::vector<app::DriverPart> out{std::move(*edge)};
  Result<std::optional<cloud::tencent::Settings>> wanted = tencent_settings(flags);
  if (!wanted) return pass(wanted);
  if (!*wanted) return out;
  cloud::tencent::Settings& tencent = **wanted;
  model::LoadBalancerDefaults& defaults = flags.config.load_balancers;
  if (defaults.provider == model::Provider::tencent) defaults.region = tencent.options.region;
  log_info("load balancers of Tencent are served", {{"endpoint", tencent.options.endpoint}});
  auto credentials =
      providers::tencent_credentials(transport, cluster,
                                     {.given = tencent.credentials,
                                      .file = flags.tencent_credentials,
                                      .secret = flags.config.credentials_secret,
                                      .ns = flags.config.ns,
                                      .of_namespaces = flags.config.namespace_credentials});
  out.push_back(
      providers::start_tencent(tasks, to_clouds, std::move(tencent), std::move(credentials)));
  return out;
}

Result<> run_controller(Flags flags) {
  if (flags.log_level == "debug") set_log_level(LogLevel::debug);
  if (!flags.host_ports.empty()) {
    Result<model::PortRange> range = api::parse_host_port_range(flags.host_ports);
    if (!range) return fail(std::move(range.error()).about("--host-ports"));
    flags.config.host_ports = *range;
  }
  if (!flags.webhook_client_ca.empty()) {
    Result<std::string> pem = read_file(flags.webhook_client_ca, kMaxAuthorityFile);
    if (!pem) return fail(std::move(pem.error()).about("--webhook-client-ca"));
    flags.config.webhook_client_ca = std::move(*pem);
  }
  if (flags.config.advertise_address.empty())
    flags.config.advertise_address = environment("POD_IP");
  const auto others_call =
      app::advertised_address(flags.config.advertise_address, flags.config.ops_address);
  if (!others_call) return fail(Error(others_call.error()).about("--advertise-address"));
  if (environment("TCP_UDP_PORT_REUSE") == "true") flags.config.names_have_protocol = true;
  if (flags.config.namespace_credentials) flags.config.ingress_own_namespace = true;
  if (flags.cloud != "edge") flags.config.load_balancers.provider = model::Provider::tencent;
  if (const auto on = module::without(app::all_declarations(), flags.config.without); !on)
    return fail(Error(on.error()).about("--without"));
  if (Result<> good = controllers::listener::check_cluster_id(flags.config.cluster_id); !good)
    return fail(std::move(good.error()).about("--cluster-id"));
  raise_file_limit();  // each port of a Pod is a socket, and each of its players two
  Foreground foreground;
  const Context context = foreground.context();
  Result<std::shared_ptr<const kube::ClusterConfig>> cluster = load_cluster(flags.cluster);
  if (!cluster) return pass(cluster);
  // Calls to clouds and to the API server do not wait for each other.
  net::CurlTransport to_clouds;
  net::CurlTransport transport;
  Result<std::vector<app::DriverPart>> parts =
      start_drivers(context.tasks, to_clouds, transport, *cluster, flags);
  if (!parts) return pass(parts);
  app::DriverSet drivers(std::move(*parts));

  flags.config.identity = process_identity();
  flags.config.version = BERTH_VERSION;
  app::App app(context.tasks, transport, *cluster, flags.config, drivers.seams(),
               Random::from_entropy());
  const app::DriverSet::Attached attached = drivers.attach(app, flags.config.drain);
  return app::serve(
      app, flags.config, context,
      [&](const app::Endpoints& endpoints) {
        drivers.avoid(app::own_servers((*cluster)->server, endpoints));
        log_info("listening", {{"webhooks", endpoints.webhooks},
                               {"ops", endpoints.ops},
                               {"identity", flags.config.identity}});
      },
      [](const std::string& ops) { log_info("health is told", {{"ops", ops}}); });
}

}  // namespace

void add_controller(CLI::App& root, Run& run) {
  CLI::App* command =
      root.add_subcommand("controller", "Run the controller on a Kubernetes cluster.");
  const auto flags = std::make_shared<Flags>();
  add_cluster_options(*command, flags->cluster);
  add_namespace_option(*command, flags->config.ns);
  command->add_option("--webhook-address", flags->config.webhook_address,
                      "Address to listen on for webhooks.");
  add_port_option(*command, "--webhook-port", flags->config.webhook_port,
                  "Port to listen on for webhooks; 0 for any.");
  command->add_flag("--share-webhook-port", flags->config.share_webhook_port,
                    "Let several replicas on this machine listen on the same webhook port.");
  command->add_option(
      "--webhook-service", flags->config.webhook_service,
      "Service through which the API server calls us; without it, the address above.");
  CLI::Option* const client_ca =
      command->add_option("--webhook-client-ca", flags->webhook_client_ca,
                          "File with the authorities of API servers' client certificates: webhooks "
                          "answer nobody without one.");
  command
      ->add_option("--webhook-client-name", flags->config.webhook_client_name,
                   "The common name that such a certificate must have; any by default.")
      ->needs(client_ca);
  command->add_option("--ops-address", flags->config.ops_address,
                      "Address of /livez, /readyz and /metrics.");
  add_port_option(*command, "--ops-port", flags->config.ops_port, "Port of the same; 0 for any.");
  command->add_option("--advertise-address", flags->config.advertise_address,
                      "Address at which other replicas reach this one, to hand on requests that "
                      "only the leader answers, for example 192.0.2.7; by default POD_IP of the "
                      "environment, else --ops-address.");
  add_port_option(*command, "--forward-port", flags->config.forward_port,
                  "Port for the same; 0 for any. Opened where a module needs it.");
  command->add_option("--user", flags->config.user.user,
                      "Our user name, when we do not run as a service account.");
  command
      ->add_option("--service-account", flags->config.user.service_account, "Our service account.")
      ->default_val("berth");
  command->add_flag("!--without-guard", flags->config.guard,
                    "Do not install the ValidatingAdmissionPolicies of Listeners and "
                    "PortBindings; ones that are there stay.");
  add_without_option(*command, flags->config.without);
  command->add_option("--conflict-check-open,--conflict_check_open",
                      flags->config.refuse_taken_ports,
                      "Refuse PortPools that ask for ports of another owner; true by default. With "
                      "false they are warned about, and wait until the ports are free.");
  command->add_flag("--ingress-own-namespace", flags->config.ingress_own_namespace,
                    "Ingresses lead to Services and workloads of their own namespace alone.");
  command->add_flag("--protocol-in-names", flags->config.names_have_protocol,
                    "Names of an Ingress's Listeners always have their protocol (lb-1-tcp-80), as "
                    "with TCP_UDP_PORT_REUSE=true; otherwise where TCP and UDP share a port.");
  command->add_option("--host-ports", flags->host_ports,
                      "Ports of nodes for Pods that ask for random host ports, both ends included; "
                      "20000-29999 by default.");
  CLI::Option* const addresses = add_edge_address_option(*command, flags->edge_addresses);
  command
      ->add_flag("--edge-loopback", flags->edge_on_loopback,
                 "Every id is an edge load balancer on a loopback address, which only this machine "
                 "reaches: for trying and for tests.")
      ->excludes(addresses);
  command->add_option("--edge-connections-per-listener", flags->edge_per_listener,
                      "TCP connections, and UDP sessions, that one listener of an edge load "
                      "balancer may have at one time; by default a quarter of all.");
  command->add_option("--edge-connections-per-client", flags->edge_per_client,
                      "The same for one client address, or one IPv6 network (/64); by default an "
                      "eighth of all. Raise it where a proxy stands before the edge.");
  command->add_option("--cluster-id", flags->config.cluster_id,
                      "How names of what we make at a provider begin; clusters that share a load "
                      "balancer need different ones. By default berth: then listeners at a "
                      "provider that nobody wishes any more stay until their port is needed.");
  command->add_option("--region", flags->config.load_balancers.region,
                      "Region of load balancers that are written without one (lb-1); "
                      "TENCENTCLOUD_REGION by default.");
  command->add_flag("--leader-elect,!--no-leader-elect", flags->config.elect_leader,
                    "Elect a leader among replicas.");
  add_clouds(*command, *flags);
  add_times(*command, *flags);
  command->add_option("--log-level", flags->log_level, "info or debug.")
      ->check(CLI::IsMember({"info", "debug"}));
  set_example(*command, "berth controller --kubeconfig ~/.kube/config --user admin");
  command->callback([&run, flags] {
    flags->config.user.service_account_namespace = flags->config.ns;
    run = [flags] { return run_controller(*flags); };
  });
}

}  // namespace berth::cmd
