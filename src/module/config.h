// The one configuration of a controller process. `cmd` fills it from flags; everything else takes
// it from here, modules too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/host_ports.h"
#include "base/time.h"
#include "kube/client/resource.h"
#include "ledger/claim.h"
#include "ledger/grant_layout.h"
#include "model/load_balancer.h"

namespace berth::module {

// Says nothing about the cluster: others may have the same.
inline constexpr std::string_view kDefaultClusterId = "berth";

// Where a namespace has its keys of a cloud, as upstream has it.
inline constexpr std::string_view kNamespaceSecret =
    "ingress-secret.networkextension.bkbcs.tencent.com";

// Who we are to the API server: whose requests the priority levels are for.
struct OurUser {
  std::string service_account_namespace{};
  std::string service_account{};
  std::string user{};  // when we do not run as a service account
};

struct Config {
  // Where the lease and the Secrets of the webhook's certificate and of our keys live.
  std::string ns = "default";
  std::string identity;  // unique per process
  std::string version = "dev";
  bool elect_leader = true;
  // A leader that dies is replaced after the first; it stops writing after the second.
  Duration lease_duration = std::chrono::seconds{15};
  Duration renew_deadline = std::chrono::seconds{10};
  Duration lease_retry_period = std::chrono::seconds{2};
  // What connections through this process have left when another replica leads.
  Duration drain = std::chrono::seconds{30};

  // Where we listen for the API server, and how it finds us there.
  std::string webhook_address = "127.0.0.1";
  std::uint16_t webhook_port = 0;   // 0: any free one
  bool share_webhook_port = false;  // with other replicas on this machine
  // With a name, the API server calls this Service of our namespace; without one, the address
  // above.
  std::string webhook_service;
  // When it is set, only who shows a certificate signed by one of these authorities (PEM) is
  // answered; with a name, only one of that common name.
  std::string webhook_client_ca;
  std::string webhook_client_name;

  std::string ops_address = "127.0.0.1";  // /livez, /readyz, /metrics
  std::uint16_t ops_port = 0;

  // Where other replicas reach this one: they hand on what only the leader may answer. Empty: the
  // address above, if it is one that others could call.
  std::string advertise_address;
  std::uint16_t forward_port = 0;

  // The ports of nodes that Pods are given when they ask for random host ports.
  model::PortRange host_ports = api::kDefaultHostPorts;

  // What a load balancer reference means that does not say it ("lb-1").
  model::LoadBalancerDefaults load_balancers{};
  // Names of what we make at a provider begin so: clusters that share a load balancer need
  // different ones.
  std::string cluster_id{kDefaultClusterId};
  // Names of an Ingress's Listeners always have their protocol, as upstream's with its setting
  // TCP_UDP_PORT_REUSE. Otherwise they have it where TCP and UDP of one port are both wanted.
  bool names_have_protocol = false;
  // A PortPool that asks for ports of another owner is refused when it is written. Otherwise it is
  // warned about, and waits for them.
  bool refuse_taken_ports = true;
  // An Ingress leads to Services and workloads of its own namespace alone.
  bool ingress_own_namespace = false;
  // A Secret of our namespace with keys of a cloud, by its name; empty: none is read.
  std::string credentials_secret{};
  // Clouds are called for a namespace's objects with the keys that it has in `kNamespaceSecret`,
  // and with no others; but for these namespaces, which have those of the process.
  bool namespace_credentials = false;
  std::vector<std::string> exempt_namespaces{};
  // From when on grants of a load balancer are written in blocks. Only tests make it smaller.
  ledger::Layout grants{};
  // How long a port stays unused between two owners, after the load balancer has let the first one
  // go.
  Duration quarantine = std::chrono::seconds{10};
  // When the port of a Pod that was admitted and never came is free again. Only tests make it
  // shorter: the API server may finish a creation half a minute after our answer.
  Duration claim_lifetime = ledger::kUnboundClaimLifetime;
  // How often load balancers are compared with what is wished of them. Only tests make it shorter.
  Duration audit_period = std::chrono::minutes{10};
  // How long a name may keep its ports at the most.
  Duration max_keep = ledger::kMaxKeep;

  OurUser user;
  // Installs the policies of controllers/install/guard_policy.h.
  bool guard = true;
  // Modules that are left out, by their names.
  std::vector<std::string> without{};

  bool is_exempt(std::string_view of_namespace) const {
    return std::ranges::find(exempt_namespaces, of_namespace) != exempt_namespaces.end();
  }
  // With whose keys this provider is called for the objects of a namespace. The edge has none.
  model::CredentialId credential_of(model::Provider provider, std::string_view of_namespace) const {
    if (!namespace_credentials || provider == model::Provider::edge || is_exempt(of_namespace))
      return {};
    return model::CredentialId(std::string(of_namespace));
  }
};

}  // namespace berth::module
