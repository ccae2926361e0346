// A simulated cloud from a file: accounts, keys, load balancers, settings and faults, as YAML.
// Pure.
//
//   accounts: [{uin: "100000000001", portRanges: true, networkShiftUp: true, domainOnly: false,
//               certificates: [], certificateEnds: [{id:, at: "2026-06-01 07:59:59"}],
//               networks: [{region:, vpc:, cidr:, globalRoute:}],
//               instances: [{id:, region:, vpc:, ip:}]}]
//   keys: [{secretId:, secretKey:, token:, account:, policy: ["clb:Describe*"]}]
//   loadBalancers: [{id:, name:, account:, region:, type:, vpc:, vips: [], elasticIps: [],
//                    snatPro:, snatIps: [], tags: [{key:, value:}], listenerQuota:}]
//   settings: {taskMs:, healthyAfterMs:, callsPerSecond:, createListenerPorts:, ...}
//   faults: [{kind: lose_reply, action:, loadBalancer:, code:, message:, ms:, listeners: [],
//   count:}] health: [{ip:, port:, is: dead}]
//
// Unknown members are refused. A policy with the one member "guide" is what the users' guide lists.
#pragma once

#include <memory>
#include <vector>

#include "sim/cloud/tencent/cloud.h"
#include "wire/value.h"

namespace berth::sim::tencent {

struct SaidHealth {
  std::string ip{};
  std::int64_t port = 0;
  Health health = Health::dead;
};

struct Setup {
  Settings settings{};
  std::vector<Account> accounts{};
  std::vector<AccessKey> keys{};
  std::vector<LoadBalancer> load_balancers{};
  std::vector<Fault> faults{};
  std::vector<SaidHealth> health{};
};

Result<Setup> read_setup(const wire::Value& document);

// One account, one key that may do everything, and one load balancer in ap-guangzhou, for trying.
inline constexpr const char* kExampleUin = "100000000001";
inline constexpr const char* kExampleSecretId = "AKIDEXAMPLE";
inline constexpr const char* kExampleSecretKey = "example-key-of-berth-sim";
inline constexpr const char* kExampleRegion = "ap-guangzhou";
inline constexpr const char* kExampleLoadBalancer = "lb-example1";
Setup example_setup();

std::unique_ptr<Cloud> make_cloud(Setup setup, WallTime now);

}  // namespace berth::sim::tencent
