// What the simulated cloud knows: accounts and keys, load balancers with listeners, rules and
// targets. Values without behaviour but for lookups; `Cloud` owns them under its lock.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/secret.h"
#include "base/time.h"
#include "sim/cloud/tencent/settings.h"
#include "wire/value.h"

namespace berth::sim::tencent {

// Addresses of one VPC. Those of `global_route` networks belong to Pods that have no network card
// of their own: the vendor calls them "other ip".
struct Network {
  std::string region{};
  std::string vpc_id{};
  std::string cidr{};
  bool global_route = false;
};

// A virtual machine, for targets by InstanceId and for cvm DescribeInstances.
struct Instance {
  std::string id{};
  std::string region{};
  std::string vpc_id{};
  std::string ip{};
};

struct Account {
  std::string uin{};
  std::int64_t app_id = 1'250'000'000;
  bool port_ranges = true;       // on the list of accounts that may have listeners of port ranges
  bool network_shift_up = true;  // "bandwidth shifted up": targets that are no machine of theirs
  bool domain_only = false;      // buys load balancers without a fixed address alone
  std::vector<Network> networks{};  // empty: every address lies where the load balancer lies
  std::vector<Instance> instances{};
  // Certificate ids that there are; nullopt: whatever is named.
  std::optional<std::vector<std::string>> certificates{};
  // When they end, in the cloud's local time: "2026-06-01 07:59:59". Others end in ten years.
  std::map<std::string, std::string> certificate_ends{};
};

// Patterns like "clb:Describe*". A key may do what one of them matches.
using Policy = std::vector<std::string>;

struct AccessKey {
  std::string secret_id{};
  Secret secret_key{};
  Secret token{};  // of temporary keys
  std::string account{};
  Policy policy{"*:*"};
};

struct Target {
  std::string ip{};
  std::string instance_id{};  // of targets that were given by it
  std::string type{"ENI"};
  std::int64_t port = 0;
  std::int64_t weight = 10;
  std::string tag{};
  WallTime registered{};

  bool same_place(const Target& other) const { return ip == other.ip && port == other.port; }
  bool same_name(const Target& other) const {
    return same_place(other) && instance_id == other.instance_id;
  }
};

struct Rule {
  std::string id{};  // "loc-..."; empty for the one rule of a listener of layer 4
  std::vector<std::string> domains{};
  std::string url{};
  wire::Object health_check{};
  wire::Object certificate{};  // empty: none
  std::string scheduler{"WRR"};
  std::int64_t session_seconds = 0;
  std::string forward_type{};
  std::string target_type{"NODE"};
  bool default_server = false;
  bool http2 = false;
  bool quic = false;
  WallTime created{};
  std::vector<Target> targets{};

  std::string_view domain() const {
    return domains.empty() ? std::string_view{} : std::string_view(domains.front());
  }
  bool has_domain(std::string_view name) const;
};

struct Listener {
  std::string id{};
  std::string name{};
  std::string protocol{"TCP"};
  std::int64_t port = 0;
  std::int64_t end_port = 0;  // 0: one port
  wire::Object certificate{};
  std::int64_t sni = 0;
  std::int64_t keepalive = 0;
  std::string session_type{"NORMAL"};
  bool deregister_rst = false;
  std::int64_t max_conn = -1;
  std::int64_t max_cps = -1;
  std::int64_t idle_timeout = 0;
  WallTime created{};
  std::vector<Rule> rules{};  // layer 4: exactly one, without id

  std::int64_t last_port() const { return end_port == 0 ? port : end_port; }
};

struct Tag {
  std::string key{};
  std::string value{};
};

struct LoadBalancer {
  std::string id{};  // empty: one is made up
  std::string account{};
  std::string region{};
  std::string name{};
  std::string type{"OPEN"};
  std::int64_t forward = 1;
  std::string vpc_id{};
  std::string subnet_id{};
  std::vector<std::string> vips{};  // empty: one is made up, but for a domain; of both families
  std::string domain{};
  std::string ip_version{"ipv4"};
  std::string ipv6_mode{};
  std::string vip_isp{};
  std::string sla_type{};
  std::string charge_type{"POSTPAID_BY_HOUR"};
  std::vector<Tag> tags{};
  bool normal = true;  // false: being made
  bool snat_pro = false;
  std::vector<std::string> snat_ips{};
  std::vector<std::string> elastic_ips{};  // of an internal one, for vpc DescribeAddresses
  bool pass_to_target = false;
  bool delete_protect = false;
  std::optional<std::int64_t> listener_quota{};  // its own, instead of the account's
  WallTime created{};
  std::map<std::string, Listener> listeners{};  // by id
};

enum class Health { unknown, alive, dead };

struct State {
  Settings settings{};
  Random random{1};
  std::map<std::string, Account> accounts{};                        // by uin
  std::map<std::string, AccessKey> keys{};                          // by secret id
  std::map<std::string, LoadBalancer> load_balancers{};             // by id
  std::map<std::pair<std::string, std::int64_t>, Health> health{};  // what was said, by address
  // What a creation with a client token made: account and token to task.
  std::map<std::pair<std::string, std::string>, std::string> client_tokens{};

  std::vector<WallTime> deletions{};  // of load balancers, lately

  // Load balancers that have changed since whoever carries their traffic last looked.
  std::set<std::string> changed{};
  // What became of their traffic: by load balancer and listener. Empty where nobody carries it.
  std::map<std::string, std::map<std::string, std::string>> traffic{};

  explicit State(Settings from) : settings(std::move(from)), random(settings.seed) {}

  // "lbl-" and eight letters or digits that nothing else has.
  std::string make_id(std::string_view prefix);
  std::string make_request_id();
  std::string make_vip(const LoadBalancer& lb);  // of its family
};

bool is_layer7(std::string_view protocol);
// TCP or UDP: what a port is taken of.
std::string_view transport_of(std::string_view protocol);
Rule* find_rule(Listener& listener, std::string_view id);
std::size_t target_count(const LoadBalancer& lb);

}  // namespace berth::sim::tencent
