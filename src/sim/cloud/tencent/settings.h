// What can be set on the simulated cloud: limits, durations, and what the vendor's documentation
// leaves open (`Unsure`). Plain values; the defaults are the documented ones.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/time.h"

namespace berth::sim::tencent {

struct Limits {
  // Calls of one action in any second, for one account in one region. 0: no bound.
  std::uint32_t calls_per_second = 20;
  std::map<std::string, std::uint32_t> calls_per_second_of{};  // by action

  // Quotas of an account.
  std::int64_t listeners_per_load_balancer = 50;
  std::int64_t rules_per_listener = 50;
  std::int64_t targets_per_rule = 100;
  std::int64_t public_load_balancers = 100;  // in one region
  std::int64_t internal_load_balancers = 100;
  std::size_t snat_ips = 10;

  // Sizes of one call.
  std::size_t create_listener_ports = 50;
  std::size_t delete_listeners = 20;
  std::size_t describe_listeners = 100;
  std::size_t describe_targets_listeners = 20;
  std::size_t health_load_balancers = 30;
  std::size_t describe_load_balancers = 20;
  std::size_t delete_load_balancers = 20;
  std::size_t register_targets = 20;
  std::size_t batch_targets = 500;
  std::size_t weight_rules = 100;
  std::size_t weight_targets_per_rule = 50;
  std::size_t weight_targets = 500;
  std::int64_t create_load_balancers = 20;

  // From this many targets on, a load balancer is deleted by force alone.
  std::size_t targets_that_protect = 20;
  // So many are deleted in five minutes without force.
  std::size_t deletions_in_five_minutes = 30;
};

// How long a task of a write runs. The call itself answers at once: who wants it to take time lets
// its transport wait (transport.h).
struct TaskDurations {
  Duration usual = std::chrono::milliseconds{500};
  std::map<std::string, Duration> of{{"CreateLoadBalancer", std::chrono::seconds{10}},
                                     {"DeleteLoadBalancer", std::chrono::seconds{3}}};

  Duration of_action(const std::string& action) const {
    const auto it = of.find(action);
    return it == of.end() ? usual : it->second;
  }
};

// What documentation and observation do not settle. README.md says for each what is known.
struct Unsure {
  // BatchRegisterTargets and BatchDeregisterTargets: a task like other writes, or done when
  // answered.
  bool batch_targets_are_tasks = true;
  // A listener that is not there fails by itself (FailListenerIdSet), or fails the whole batch.
  bool batch_fails_whole_on_unknown_listener = false;
  // Registering a target that is there: it gets the new weight, or the call is refused.
  bool registering_again_is_refused = false;
  // Deregistering a target that is not there.
  bool deregistering_missing_is_refused = false;
  // Session persistence together with LEAST_CONN.
  bool session_needs_wrr = false;
  // HealthCheck.TimeOut must lie below IntervalTime.
  bool timeout_below_interval = true;
  // The lock of a load balancer outlives its task by this much.
  Duration lock_outlives_task{};
  // "Your task is working (...)" instead of "Loadbalancer(...) is not in normal desState".
  bool busy_names_the_task = false;
  // CreateLoadBalancer answers without ids; the task has them.
  bool slow_load_balancer_ids = false;
  // A parameter that is documented for other protocols: ignored, or InvalidParameterValue.
  bool inapplicable_is_refused = false;
  // LoadBalancerName of DescribeLoadBalancers matches parts of names.
  bool names_match_in_part = true;
  // DescribeLoadBalancers of an id that is not there: left out, or LBIdNotFound.
  bool describing_missing_is_refused = false;
  // DeleteRule of the last rule of the default domain, while others stay: the first of them is the
  // default, or NewDefaultServerDomain must say which.
  bool default_domain_needs_another = false;
  // DescribeTargets: listeners and rules without targets are shown so, or left out.
  bool untargeted_are_left_out = false;
  // A target that was bound by InstanceId is not there for who names it by its address.
  bool targets_go_by_what_bound_them = true;
};

struct Settings {
  std::uint64_t seed = 1;  // of ids
  std::set<std::string> regions{
      "ap-guangzhou", "ap-shanghai",      "ap-nanjing",     "ap-beijing", "ap-chengdu",
      "ap-chongqing", "ap-hongkong",      "ap-singapore",   "ap-tokyo",   "ap-seoul",
      "eu-frankfurt", "na-siliconvalley", "na-ashburn",     "ap-jakarta", "ap-bangkok",
      "sa-saopaulo",  "ap-mumbai",        "ap-shenzhen-fsi"};
  Limits limits{};
  TaskDurations tasks{};
  Unsure unsure{};
  Duration max_clock_skew = std::chrono::seconds{300};
  // A target that nobody said anything about is Unknown, and Alive after this long.
  Duration healthy_after = std::chrono::seconds{3};
  // Without permission a call is refused; a cloud without policies lets every key do everything.
  bool check_policies = true;
};

}  // namespace berth::sim::tencent
