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

enum class Call : std::uint8_t { describe, list, create, remove, targets, attributes };
inline constexpr std::size_t kCalls = 6;
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
  std::vector<Result<std::string>> results{};  // ids for creations, else empty
  std::optional<std::uint64_t> task{};
  Instant task_over{};
};

class ModelProvider {
 public:
  explicit ModelProvider(ModelOptions options = {});

  // The test's side.
  void add_load_balancer(const model::LoadBalancerRef& lb, model::LoadBalancerInfo info = {});
  // A listener that somebody else made. Returns its id.
  std::string add_listener(const model::LoadBalancerRef& lb, model::ListenerSpec spec);
  void remove_listener(const model::LoadBalancerRef& lb, const std::string& id);
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
                                                  model::Transport protocol,
                                                  model::Port port) const;
  std::uint64_t calls(Call call) const;
  std::uint64_t calls() const;
  // Entries of the largest call of its kind.
  std::size_t largest_batch(Call call) const;

  // The driver's side.
  const model::Abilities& abilities() const { return options_.limits; }
  const ModelOptions& options() const { return options_; }
  Duration draw_latency();
  Result<model::LoadBalancerInfo> describe(const model::LoadBalancerRef& lb, Instant now);
  Result<std::vector<berth::lb::ObservedListener>> list(const model::LoadBalancerRef& lb,
                                                        Instant now);
  Reply create(const model::LoadBalancerRef& lb, std::vector<model::ListenerSpec> wanted,
               Instant now);
  Reply remove(const model::LoadBalancerRef& lb, std::vector<std::string> ids, Instant now);
  Reply change_targets(const model::LoadBalancerRef& lb,
                       std::vector<berth::lb::TargetChange> changes, Instant now);
  Reply change_attributes(const model::LoadBalancerRef& lb,
                          std::vector<berth::lb::AttributeChange> changes, Instant now);
  // Nothing: the task is still under way.
  std::optional<std::vector<Result<std::string>>> results_of(std::uint64_t task, Instant now);

 private:
  using Results = std::vector<Result<std::string>>;
  // Applies entry i; runs with the lock held.
  using Apply = std::function<Result<std::string>(std::size_t i)>;
  struct Balancer {
    model::LoadBalancerInfo info{};
    std::map<std::string, berth::lb::ObservedListener> listeners{};
    std::map<std::pair<model::Transport, model::Port>, std::string> by_first_port{};
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
  Reply write_locked(Call call, const model::LoadBalancerRef& lb, Batch batch, Instant now,
                     Apply apply) REQUIRES(mu_);
  std::optional<Scripted> next_fault(Call call) REQUIRES(mu_);
  std::optional<Error> next_read_error(Call call) REQUIRES(mu_);
  std::size_t batch_bound(Call call) const;
  Results apply_all(std::size_t size, const Apply& apply) REQUIRES(mu_);
  static const std::string* holder(const Balancer& balancer, model::Transport protocol,
                                   model::PortRange ports);
  void insert(const model::LoadBalancerRef& lb, Balancer& balancer,
              berth::lb::ObservedListener listener) REQUIRES(mu_);
  Balancer* find_balancer(const model::LoadBalancerRef& lb) REQUIRES(mu_);
  void land_due(Instant now) REQUIRES(mu_);
  void count(Call call, std::size_t size) REQUIRES(mu_);
  Result<std::string> create_one(const model::LoadBalancerRef& lb, const model::ListenerSpec& spec)
      REQUIRES(mu_);
  Result<std::string> remove_one(const model::LoadBalancerRef& lb, const std::string& id)
      REQUIRES(mu_);
  Result<std::string> change_one(const model::LoadBalancerRef& lb,
                                 const berth::lb::TargetChange& change) REQUIRES(mu_);
  Result<std::string> change_one(const model::LoadBalancerRef& lb,
                                 const berth::lb::AttributeChange& change) REQUIRES(mu_);
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
