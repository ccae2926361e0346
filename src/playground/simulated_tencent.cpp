#include "playground/simulated_tencent.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "sim/cloud/tencent/setup.h"

namespace berth::playground {
namespace {

constexpr const char* kAccount = "100000000001";
constexpr const char* kRegion = "ap-guangzhou";
constexpr const char* kOtherRegion = "ap-shanghai";
// The documented fifty are soon used up by pools: users have it raised, as these have.
constexpr std::int64_t kListenersPerLoadBalancer = 1000;

struct Known {
  const char* id;
  const char* name;
  const char* region;
};
constexpr Known kLoadBalancers[] = {{"lb-rooms001", "rooms", kRegion},
                                    {"lb-lobby001", "lobby", kRegion},
                                    {"lb-east0001", "rooms-east", kOtherRegion},
                                    {"lb-east0002", "lobby-east", kOtherRegion}};

// Addresses of this process alone: two playgrounds on one machine do not meet.
std::string vip_of(const std::string& id) {
  return edge::loopback_address(fmt::format("{}/tencent/{}", ::getpid(), id));
}

crypto::CloudCredentials made_up(Random& random) {
  return {.id = fmt::format("AKID{:016x}", random.next()),
          .key = Secret(fmt::format("{:016x}{:016x}", random.next(), random.next()))};
}

sim::tencent::Setup setup_of(const crypto::CloudCredentials& credentials,
                             SimulatedTencentOptions options) {
  sim::tencent::Setup out;
  out.settings.limits.listeners_per_load_balancer = kListenersPerLoadBalancer;
  out.accounts = {{.uin = kAccount}};
  out.keys = {{.secret_id = credentials.id,
               .secret_key = credentials.key,
               .account = kAccount,
               .policy = std::move(options.policy)}};
  for (const Known& one : kLoadBalancers)
    out.load_balancers.push_back({.id = one.id, .region = one.region, .name = one.name});
  std::ranges::move(options.load_balancers, std::back_inserter(out.load_balancers));
  for (sim::tencent::LoadBalancer& one : out.load_balancers) {
    if (one.account.empty()) one.account = kAccount;
    if (one.region.empty()) one.region = kRegion;
    if (one.vpc_id.empty()) one.vpc_id = "vpc-playground";
    if (one.vips.empty()) one.vips = {vip_of(one.id)};
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<SimulatedTencent>> SimulatedTencent::start(Tasks& tasks, Random random,
                                                                  SimulatedTencentOptions options) {
  std::unique_ptr<SimulatedTencent> out(new SimulatedTencent());
  out->credentials_ = made_up(random);
  const std::optional<edge::LowPorts> low_ports = options.low_ports;
  out->cloud_ =
      sim::tencent::make_cloud(setup_of(out->credentials_, std::move(options)), tasks.wall_time());
  Result<std::unique_ptr<sim::traffic::Carrier>> carrier =
      sim::traffic::Carrier::start(tasks, *out->cloud_, {.low_ports = low_ports});
  if (!carrier) return pass(carrier);
  out->carrier_ = std::move(*carrier);
  Result<std::unique_ptr<sim::tencent::HttpsFrontend>> frontend =
      sim::tencent::HttpsFrontend::start(
          tasks, *out->cloud_,
          {.before_answer = [traffic = out->carrier_.get()](const std::stop_token& stop) {
            traffic->follow(stop);
          }});
  if (!frontend) return pass(frontend);
  out->frontend_ = std::move(*frontend);
  return out;
}

cloud::tencent::Settings SimulatedTencent::settings() const {
  cloud::tencent::Settings out{.credentials = credentials_};
  out.options.endpoint = frontend_->host();
  out.options.region = kRegion;
  cloud::tencent::trust(out.options, frontend_->ca_pem());
  return out;
}

void SimulatedTencent::add_low_ports(LowPortsByVip& out) const {
  const edge::LowPorts& low = carrier_->low_ports();
  if (low.offset == 0) return;
  for (const std::string& lb : cloud_->load_balancer_ids())
    for (const std::string& vip : cloud_->vips(lb)) out[vip] = {low.limit, low.offset};
}

}  // namespace berth::playground
