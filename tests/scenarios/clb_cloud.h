// The simulated Tencent cloud as a world's outside: replicas reach it with the real driver, over a
// network on which each call may be where a process dies.
//
// Those who look on see each listener come, change and go, as with the model provider. Strangers'
// listeners are not shown: that nobody touched them is asked for by itself. Owned by a test, and
// outlives its world; not thread-safe.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ledger_book.h"
#include "providers/tencent_credentials.h"
#include "sim/cloud/tencent/cloud.h"

namespace berth::scenario {

inline constexpr std::string_view kClbRegion = "ap-nanjing";

// All that the driver calls. One that is missing here fails every run that makes it: sweeps over
// these calls would not know of it.
inline constexpr std::array<std::string_view, 12> kPlainCalls{
    "DescribeLoadBalancers", "DescribeQuota",           "DescribeListeners",
    "DescribeTargets",       "DescribeTargetHealth",    "DescribeTaskStatus",
    "CreateListener",        "ModifyListener",          "DeleteLoadBalancerListeners",
    "BatchRegisterTargets",  "BatchModifyTargetWeight", "BatchDeregisterTargets"};
inline constexpr std::array<std::string_view, 4> kRuleCalls{"CreateRule", "ModifyRule",
                                                            "ModifyDomainAttributes", "DeleteRule"};
std::vector<std::string_view> all_calls();

// What `berth controller --cloud tencent --region ap-nanjing` sets.
model::LoadBalancerDefaults clb_defaults();

struct ClbOptions {
  sim::tencent::Settings settings{};
  sim::tencent::Account account{.uin = "100000000001"};
  Duration round_trip = std::chrono::milliseconds{50};
  // Where replicas have their keys from; none: they are given those of the account.
  std::optional<providers::TencentCredentials> credentials{};
};

// The process dies there: before the call that has this number has an effect, or after it.
struct ClbCrash {
  std::uint64_t call = 0;
  sim::CrashSide side = sim::CrashSide::after;
};

class ClbCloud final : public world::OutsideCloud, public sim::lb::ProviderView {
 public:
  explicit ClbCloud(ClbOptions options = {});

  sim::tencent::Cloud& cloud() { return cloud_; }
  const sim::tencent::Cloud& cloud() const { return cloud_; }
  // "ap-nanjing:lb-demo" or "lb-demo"; what is said of it beyond that comes in `about`.
  void add_load_balancer(const std::string& reference, sim::tencent::LoadBalancer about = {});
  // A listener that somebody else made.
  void add_stranger(const std::string& lb, sim::tencent::Listener listener);
  // The first stranger's listener that is not as it was made; empty: none.
  std::string touched_stranger() const;
  // Somebody's hand.
  void edit(const std::string& lb, const std::function<void(sim::tencent::LoadBalancer&)>& change);
  void remove_load_balancer(const std::string& lb);
  // What our key may do from now on.
  void give_key(const sim::tencent::Policy& policy);
  // Processes that start from now on have this SecretKey, whatever the cloud has.
  void sign_with(const std::string& secret_key) { secret_key_ = secret_key; }
  // The id of a listener that is no stranger's; empty: there is none.
  std::string any_of_ours(const sim::tencent::LoadBalancer& lb, Random& random) const;

  // Which keys called for which load balancers: "AKID lb-demo".
  const std::set<std::string>& callers() const { return callers_; }

  // Calls from now on are counted from 0, those for health apart, and the one that is named kills.
  void count_calls(std::optional<ClbCrash> crash);
  std::uint64_t calls_counted() const { return counted_; }
  // Calls that were answered, by action; those that begin with "Describe" are no writes.
  std::uint64_t calls(const std::string& action) const;
  std::uint64_t writes() const;
  // Of these, those that were never answered.
  std::vector<std::string> never_called(std::span<const std::string_view> actions) const;

  app::DriverPart connect(sim::Process& process, net::Transport& to_server) override;
  void advance(sim::Kernel& kernel) override;
  sim::lb::ProviderView& view() override { return *this; }

  void observe(std::function<void(const sim::lb::Change&)> observer) override;
  std::vector<model::LoadBalancerRef> load_balancers() const override;
  std::vector<lb::ObservedListener> listeners(const model::LoadBalancerRef& lb) const override;
  std::optional<lb::ObservedListener> find(const model::LoadBalancerRef& lb,
                                           model::Transport transport,
                                           model::Port port) const override;

 private:
  using Listeners = std::map<std::string, lb::ObservedListener>;  // by id

  Result<net::Reply> deliver(sim::Process& process, const net::Request& request,
                             const std::function<net::Reply()>& serve);
  void note_caller(const net::Request& request);
  bool dies_at(std::uint64_t number, sim::CrashSide side) const;
  // Tells the observer what is other than at the last look.
  void look();
  Listeners now_on(const model::LoadBalancerRef& lb) const;

  const ClbOptions options_;
  sim::tencent::Cloud cloud_;
  std::string secret_key_;
  std::map<std::string, sim::tencent::Listener> strangers_;  // by id
  std::map<std::string, std::string> strangers_places_;      // their load balancers, by id
  std::map<model::LoadBalancerRef, Listeners> seen_;
  std::function<void(const sim::lb::Change&)> observer_;
  std::optional<ClbCrash> crash_;
  std::uint64_t counted_ = 0;
  std::set<std::string> callers_;
};

}  // namespace berth::scenario
