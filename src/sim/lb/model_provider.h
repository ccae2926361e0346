// A provider of load balancers, as a map with faults: what a player would reach. Outlives every
// process that talks to it, as a real cloud does.
//
// Thread-safe, so that benches can use it on threads. Nothing here waits: the caller says what time
// it is, and a slow task lands when somebody looks after its time. Faults are drawn from a seed.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "lb/driver.h"

namespace berth::sim::lb {

enum class Call : std::uint8_t {
  describe,
  search,
  list,
  look_up,
  create,
  remove,
  change_listeners,
  create_rules,
  remove_rules,
  change_rules,
  targets
};
inline constexpr std::size_t kCalls = 11;
std::string_view to_string(Call call);

// Chances are per call, `partial` per entry of a batch.
struct Faults {
  double throttled = 0;
  Duration retry_after = std::chrono::seconds{1};
  double unavailable = 0;
  double partial = 0;     // an entry fails with one of the codes below, the others succeed
  double lost_reply = 0;  // it took effect, and the caller is told `timeout`
  double slow = 0;        // it takes effect later, whether the caller still lives or not
  Duration slow_for = std::chrono::seconds{20};
  std::vector<Code> partial_codes{Code::unavailable, Code::throttled, Code::timeout};
};

// What one call does, said in advance by a test.
struct Scripted {
  enum class Kind : std::uint8_t { error, lost_reply, slow };
  Kind kind = Kind::error;
  Error error{};        // with `error`: of every entry
  Duration slow_for{};  // with `slow`
};

struct ModelOptions {
  model::Abilities limits{};
  std::uint32_t listener_quota = 0;  // of one load balancer; 0: none
  std::uint32_t rule_quota = 0;      // of one listener; 0: none
  // What is made with the listener or the rule and stays.
  bool fixed_tls = false;
  bool fixed_scheduler = false;
  // Known are only load balancers that were added; otherwise any is.
  bool strict = false;
  std::uint64_t seed = 1;
  // How long a call takes, there and back; the kernel has its own latency on top.
  Duration min_latency{};
  Duration max_latency{};
};

// One listener, before and after; one of the two is missing when it was created or removed.
struct Change {
  model::LoadBalancerRef lb{};
  std::optional<berth::lb::ObservedListener> before{};
  std::optional<berth::lb::ObservedListener> after{};
};

// What a write was answered with. A task: the results come when it is over.
struct Reply {
  std::vector<Result<model::ListenerId>> results{};  // ids for creations, else empty
  std::optional<std::uint64_t> task{};
  Instant task_over{};
};

class ModelProvider {
 public:
  explicit ModelProvider(ModelOptions options = {});

  // The test's side.
  void add_load_balancer(const model::LoadBalancerRef& lb, model::LoadBalancerInfo info = {});
  // A listener that somebody else made. Returns its id.
  model::ListenerId add_listener(const model::LoadBalancerRef& lb, model::ListenerSpec spec);
  void remove_listener(const model::LoadBalancerRef& lb, const model::ListenerId& id);
  void remove_load_balancer(const model::LoadBalancerRef& lb);
  void set_faults(Faults faults);
  void script(Call call, Scripted next);  // kept in order, used before drawn faults
  void set_quota(std::uint32_t listeners);
  // Called after each change, without a lock. It must not wait.
  void observe(std::function<void(const Change&)> observer);
  // Lands slow tasks whose time has come.
  void advance(Instant now);
  bool tasks_under_way() const;
  std::vector<model::LoadBalancerRef> load_balancers() const;
  std::vector<berth::lb::ObservedListener> listeners(const model::LoadBalancerRef& lb) const;
  std::optional<berth::lb::ObservedListener> find(const model::LoadBalancerRef& lb,
                                                  model::Transport transport,
                                                  model::Port port) const;
  std::uint64_t calls(Call call) const;
  std::uint64_t calls() const;
  // Entries of the largest call of its kind.
  std::size_t largest_batch(Call call) const;

  // The driver's side.
  const model::Abilities& abilities() const { return options_.limits; }
  const ModelOptions& options() const { return options_; }
  bool can_change(const model::ListenerAttributes& there,
                  const model::ListenerAttributes& wished) const;
  bool can_change(const model::RuleAttributes& there, const model::RuleAttributes& wished) const;
  Duration draw_latency();
  Result<model::LoadBalancerInfo> describe(const model::LoadBalancerRef& lb, Instant now);
  Result<std::vector<berth::lb::ObservedListener>> list(const model::LoadBalancerRef& lb,
                                                        Instant now);
  Result<std::vector<berth::lb::FoundLoadBalancer>> search(const berth::lb::DirectoryQuery& query,
                                                           Instant now);
  Result<std::vector<berth::lb::ObservedListener>> look_up(
      const model::LoadBalancerRef& lb, std::span<const berth::lb::Question> questions,
      Instant now);
  Reply create(const model::LoadBalancerRef& lb, std::vector<model::ListenerSpec> wanted,
               Instant now);
  Reply remove(const model::LoadBalancerRef& lb, std::vector<model::ListenerId> ids, Instant now);
  Reply change(const model::LoadBalancerRef& lb, std::vector<berth::lb::ListenerChange> changes,
               Instant now);
  Reply create_rules(const model::LoadBalancerRef& lb, std::vector<berth::lb::NewRule> wanted,
                     Instant now);
  Reply remove_rules(const model::LoadBalancerRef& lb, std::vector<berth::lb::RuleRef> rules,
                     Instant now);
  Reply change_rules(const model::LoadBalancerRef& lb, std::vector<berth::lb::RuleChange> changes,
                     Instant now);
  Reply change_targets(const model::LoadBalancerRef& lb,
                       std::vector<berth::lb::TargetChange> changes, Instant now);
  // Nothing: the task is still under way.
  std::optional<std::vector<Result<model::ListenerId>>> results_of(std::uint64_t task, Instant now);

 private:
  using Results = std::vector<Result<model::ListenerId>>;
  // Applies entry i; runs with the lock held.
  using Apply = std::function<Result<model::ListenerId>(std::size_t i)>;
  // Makes of a copy of a listener what it shall be, or refuses.
  using Edit = std::function<Result<>(model::ListenerSpec& spec)>;
  struct Balancer {
    model::LoadBalancerInfo info{};
    std::map<model::ListenerId, berth::lb::ObservedListener> listeners{};
    std::map<std::pair<model::Transport, model::Port>, model::ListenerId> by_first_port{};
    std::uint64_t task = 0;  // under way; 0: none
  };
  struct Batch {
    std::size_t size = 0;  // entries
    std::size_t load = 0;  // what the bound counts: entries, or targets
  };
  struct SlowTask {
    model::LoadBalancerRef lb{};
    Instant over{};
    std::size_t size = 0;
    Apply apply{};
    std::optional<Results> results{};
  };
  Reply write(Call call, const model::LoadBalancerRef& lb, Batch batch, Instant now, Apply apply);
  // `load` is what the bound counts.
  template <class C>
  Reply write_changes(Call call, const model::LoadBalancerRef& lb, std::vector<C> changes,
                      std::size_t load, Instant now);
  Reply write_locked(Call call, const model::LoadBalancerRef& lb, Batch batch, Instant now,
                     Apply apply) REQUIRES(mu_);
  std::optional<Scripted> next_fault(Call call) REQUIRES(mu_);
  std::optional<Error> next_read_error(Call call) REQUIRES(mu_);
  std::size_t batch_bound(Call call) const;
  Results apply_all(std::size_t size, const Apply& apply) REQUIRES(mu_);
  // Who takes a port of the range for this transport; null: nobody.
  static const model::ListenerId* holder(const Balancer& balancer, model::Transport transport,
                                         model::PortRange ports);
  const model::ListenerId* in_the_way(const Balancer& balancer,
                                      const model::ListenerSpec& spec) const;
  void insert(const model::LoadBalancerRef& lb, Balancer& balancer,
              berth::lb::ObservedListener listener) REQUIRES(mu_);
  Balancer* find_balancer(const model::LoadBalancerRef& lb) REQUIRES(mu_);
  void land_due(Instant now) REQUIRES(mu_);
  Result<std::vector<berth::lb::ObservedListener>> read(Call call, const model::LoadBalancerRef& lb,
                                                        Instant now);
  void count(Call call, std::size_t size) REQUIRES(mu_);
  Result<> check_new(const model::ListenerSpec& spec) const;
  // One entry of a batch each. The id is that of a creation, else empty.
  Result<model::ListenerId> create_one(const model::LoadBalancerRef& lb,
                                       const model::ListenerSpec& spec) REQUIRES(mu_);
  Result<model::ListenerId> remove_one(const model::LoadBalancerRef& lb,
                                       const model::ListenerId& id) REQUIRES(mu_);
  Result<model::ListenerId> remove_one(const model::LoadBalancerRef& lb,
                                       const berth::lb::RuleRef& rule) REQUIRES(mu_);
  Result<model::ListenerId> change_one(const model::LoadBalancerRef& lb,
                                       const model::ListenerId& id, const Edit& edit) REQUIRES(mu_);
  Result<> edit(model::ListenerSpec& spec, const berth::lb::ListenerChange& change) const;
  Result<> edit(model::ListenerSpec& spec, const berth::lb::NewRule& wanted) const;
  Result<> edit(model::ListenerSpec& spec, const berth::lb::RuleChange& change) const;
  Result<> edit(model::ListenerSpec& spec, const berth::lb::TargetChange& change) const;
  void changed(Change change) REQUIRES(mu_);
  // Hands the changes that were collected to the observer, without the lock.
  void tell();

  const ModelOptions options_;
  mutable Mutex mu_;
  Random random_ GUARDED_BY(mu_);
  Faults faults_ GUARDED_BY(mu_);
  std::uint32_t quota_ GUARDED_BY(mu_);
  std::array<std::deque<Scripted>, kCalls> scripts_ GUARDED_BY(mu_);
  std::map<model::LoadBalancerRef, Balancer> balancers_ GUARDED_BY(mu_);
  std::map<std::uint64_t, SlowTask> tasks_ GUARDED_BY(mu_);
  std::uint64_t next_id_ GUARDED_BY(mu_) = 1;
  std::uint64_t next_task_ GUARDED_BY(mu_) = 1;
  std::array<std::uint64_t, kCalls> calls_ GUARDED_BY(mu_){};
  std::array<std::size_t, kCalls> largest_ GUARDED_BY(mu_){};
  std::vector<Change> untold_ GUARDED_BY(mu_);
  std::function<void(const Change&)> observer_ GUARDED_BY(mu_);
};

}  // namespace berth::sim::lb
