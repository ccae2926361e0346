// For tests: the driver on the simulated cloud, with two load balancers and virtual time.
#pragma once

#include <string>
#include <string_view>

#include "cloud/tencent/driver.h"
#include "sim/cloud/tencent/transport.h"
#include "sim/kernel/kernel.h"

namespace berth::cloud::tencent::testing {

inline constexpr std::string_view kAccount = "100000000001";
inline constexpr std::string_view kRegion = "ap-nanjing";

inline model::LoadBalancerRef ref(std::string_view id) {
  return {model::Provider::tencent, std::string(kRegion), std::string(id)};
}

struct SimulatedClb {
  explicit SimulatedClb(const sim::tencent::Settings& settings = {},
                        sim::tencent::Policy policy = {"*:*"})
      : cloud(settings) {
    cloud.add_account({.uin = std::string(kAccount)});
    cloud.add_key({.secret_id = "AKIDEXAMPLE",
                   .secret_key = Secret("example-key"),
                   .account = std::string(kAccount),
                   .policy = std::move(policy)});
    for (const char* id : {"lb-first", "lb-second"}) {
      cloud.add_load_balancer({.id = id,
                               .account = std::string(kAccount),
                               .region = std::string(kRegion),
                               .name = fmt::format("name-of-{}", id)},
                              process.wall_time());
    }
  }

  Context context() { return {.tasks = process}; }
  lb::Listeners& listeners() { return *driver.seams().listeners; }

  const lb::Place first{ref("lb-first")};
  sim::Kernel kernel{1};
  sim::Process& process = kernel.start_process("test");
  sim::tencent::Cloud cloud;
  sim::tencent::CloudTransport transport{cloud, {.round_trip = std::chrono::milliseconds{50}}};
  GivenCredentials credentials{{.id = "AKIDEXAMPLE", .key = Secret("example-key")}};
  ClbDriver driver{process, transport, credentials, {.region = std::string(kRegion)}};
};

}  // namespace berth::cloud::tencent::testing
