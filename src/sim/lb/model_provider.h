// A provider of load balancers, as a map with faults: what a player would reach. Outlives every
// process that talks to it, as a real cloud does.
//
// Thread-safe, so that benches can use it on threads. Nothing here waits: the caller says what time
// it is, and a slow task lands when somebody looks after its time. Faults are drawn from a seed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "lb/driver.h"
#include "sim/lb/provider_view.h"

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
  targets,
  list_groups,
  create_groups,
  remove_groups,
  make,
  tag,
  remove_load_balancer
};
inline constexpr std::size_t kCalls = 17;
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
  // The targets of a rule are in a group, which is made before the rule, or before the listener of
  // one rule, and removed after it: calls of their own, so that a half may stay.
  bool groups = false;
  // Known are only load balancers and credentials that were added; otherwise any is.
  bool strict = false;
  model::Provider provider = model::Provider::tencent;  // of load balancers that are made
  std::uint64_t seed = 1;
  // How long a call takes, there and back; the kernel has its own latency on top.
  Duration min_latency{};
  Duration max_latency{};
};

// A credential is of an account: it reaches the load balancers of that account.
enum class CredentialState : std::uint8_t { good, forbidden, expired };

// Where the targets of one rule are. Whose rule it is: of nobody's while it is half made.
struct Group {
  std::string name{};  // of the listener
  model::Protocol protocol = model::Protocol::tcp;
  model::PortRange ports{};
  model::RuleKey key{};
  model::ListenerId user{};
};

// How many of them one call takes.
inline std::size_t group_batch(const model::Abilities& limits) {
  return std::max({limits.create_batch, limits.remove_batch, limits.rule_batch});
}

// What a write was answered with. A task: the results come when it is over.
struct Reply {
  std::vector<Result<model::ListenerId>> results{};  // ids for creations, else empty
  std::optional<std::uint64_t> task{};
  Instant task_over{};
};

class ModelProvider final : public ProviderView {
 public:
  explicit ModelProvider(ModelOptions options = {});

  // The test's side.
  void add_load_balancer(const model::LoadBalancerRef& lb, model::LoadBalancerInfo info = {});
  // A listener that somebody else made. Returns its id.
  model::ListenerId add_listener(const model::LoadBalancerRef& lb, model::ListenerSpec spec);
  void remove_listener(const model::LoadBalancerRef& lb, const model::ListenerId& id);
  void remove_load_balancer(const model::LoadBalancerRef& lb);
  // A group that somebody began a listener or a rule with. Returns its id.
  model::ListenerId add_half_made(const model::LoadBalancerRef& lb,
                                  const model::ListenerSpec& spec);
  void set_tags(const model::LoadBalancerRef& lb, std::vector<berth::lb::Tag> tags);
  // Whose it is, other than the account that its reference names.
  void set_account(const model::LoadBalancerRef& lb, std::string account);
  // The process's own reaches every account until it is set; no other does that was not.
  void set_credential(const model::CredentialId& credential, std::string account,
                      CredentialState state = CredentialState::good);
  void set_health(const model::LoadBalancerRef& lb, berth::lb::TargetHealth health);
  void set_faults(Faults faults);
  void script(Call call, Scripted next);  // kept in order, used before drawn faults
  void set_quota(std::uint32_t listeners);
  void observe(std::function<void(const Change&)> observer) override;
  // Lands slow tasks whose time has come.
  void advance(Instant now);
  bool tasks_under_way() const;
  std::vector<model::LoadBalancerRef> load_balancers() const override;
  std::vector<berth::lb::ObservedListener> listeners(
      const model::LoadBalancerRef& lb) const override;
  std::optional<berth::lb::ObservedListener> find(const model::LoadBalancerRef& lb,
                                                  model::Transport transport,
                                                  model::Port port) const override;
  std::vector<berth::lb::ObservedListener> half_made(const model::LoadBalancerRef& lb) const;
  std::uint64_t calls(Call call) const;
  std::uint64_t calls() const;
  // With which credentials each load balancer was called, those that were refused included.
  std::map<model::LoadBalancerRef, std::set<model::CredentialId>> callers() const;
  std::uint64_t calls_with(const model::CredentialId& credential) const;
  // Entries of the largest call of its kind.
  std::size_t largest_batch(Call call) const;

  // The driver's side.
  const model::Abilities& abilities() const { return options_.limits; }
  const ModelOptions& options() const { return options_; }
  bool can_change(const model::ListenerAttributes& there,
                  const model::ListenerAttributes& wished) const;
  bool can_change(const model::RuleAttributes& there, const model::RuleAttributes& wished) const;
  Duration draw_latency();
  Result<std::vector<Result<model::LoadBalancerInfo>>> describe(
      const model::CredentialId& credential, std::span<const model::LoadBalancerRef> lbs,
      Instant now);
  Result<std::vector<berth::lb::ObservedListener>> list(const berth::lb::Place& place, Instant now);
  Result<std::vector<berth::lb::FoundLoadBalancer>> search(const model::CredentialId& credential,
                                                           const berth::lb::DirectoryQuery& query,
                                                           Instant now);
  Result<std::vector<berth::lb::ObservedListener>> look_up(
      const berth::lb::Place& place, std::span<const berth::lb::Question> questions, Instant now);
  Reply create(const berth::lb::Place& place, std::vector<model::ListenerSpec> wanted, Instant now);
  Reply remove(const berth::lb::Place& place, std::vector<model::ListenerId> ids, Instant now);
  Reply change(const berth::lb::Place& place, std::vector<berth::lb::ListenerChange> changes,
               Instant now);
  Reply create_rules(const berth::lb::Place& place, std::vector<berth::lb::NewRule> wanted,
                     Instant now);
  Reply remove_rules(const berth::lb::Place& place, std::vector<berth::lb::RuleRef> rules,
                     Instant now);
  Reply change_rules(const berth::lb::Place& place, std::vector<berth::lb::RuleChange> changes,
                     Instant now);
  Reply change_targets(const berth::lb::Place& place, std::vector<berth::lb::TargetChange> changes,
                       Instant now);
  // By id. Those of listeners and rules that are there, and those that are half made.
  Result<std::map<model::ListenerId, Group>> list_groups(const berth::lb::Place& place,
                                                         Instant now);
  // One that is there under this name and key is the same again; one that is half made and does not
  // fit is replaced. Of a rule of layer 7 name and ports are those of its user.
  Reply create_groups(const berth::lb::Place& place, std::vector<Group> wanted, Instant now);
  // One that is used stays, one that is gone is a success.
  Reply remove_groups(const berth::lb::Place& place, std::vector<model::ListenerId> ids,
                      Instant now);
  // A load balancer that is begun has no tags before `tag`.
  Reply make(const model::CredentialId& credential, berth::lb::NewLoadBalancer wanted, Instant now);
  Reply tag(const berth::lb::Place& place, Instant now);
  // What `make` with these words made.
  std::optional<model::LoadBalancerRef> made(const berth::lb::NewLoadBalancer& wanted) const;
  Reply unmake(const berth::lb::Place& place, const berth::lb::Tag& mark, Instant now);
  std::vector<berth::lb::TargetHealth> health(const model::LoadBalancerRef& lb) const;
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
    std::map<model::ListenerId, Group> groups{};
    std::vector<berth::lb::TargetHealth> health{};
    std::string account{};
    std::vector<berth::lb::Tag> tags{};
    // The tags that it shall have, while it has none: whoever asks with the same words finishes it.
    std::optional<std::vector<berth::lb::Tag>> begun{};
    bool ending = false;     // it is being removed
    std::uint64_t task = 0;  // under way; 0: none
  };
  struct Credential {
    std::string account{};
    CredentialState state = CredentialState::good;
  };
  using Balancers = std::map<model::LoadBalancerRef, Balancer>;
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
  Reply write(Call call, const berth::lb::Place& place, Batch batch, Instant now, Apply apply);
  // `load` is what the bound counts.
  template <class C>
  Reply write_changes(Call call, const berth::lb::Place& place, std::vector<C> changes,
                      std::size_t load, Instant now);
  Reply write_locked(Call call, const berth::lb::Place& place, Batch batch, Instant now,
                     Apply apply) REQUIRES(mu_);
  // Nothing: it may go on, on a load balancer that nobody changes meanwhile.
  std::optional<Error> write_error(Call call, const berth::lb::Place& place) REQUIRES(mu_);
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
  // As the credential may see it: known, its own account's, and not being removed.
  Result<Balancer*> reach(const berth::lb::Place& place) REQUIRES(mu_);
  Result<> may_use(const model::CredentialId& credential, std::string_view account) const
      REQUIRES(mu_);
  bool sees(const model::CredentialId& credential, std::string_view account) const REQUIRES(mu_);
  static bool is_named(const model::LoadBalancerRef& lb, const Balancer& balancer,
                       const berth::lb::NewLoadBalancer& wanted);
  // Whether these words have made it, or begun it.
  static bool is_made_by(const model::LoadBalancerRef& lb, const Balancer& balancer,
                         const berth::lb::NewLoadBalancer& wanted);
  void land_due(Instant now) REQUIRES(mu_);
  Result<std::vector<berth::lb::ObservedListener>> read(Call call, const berth::lb::Place& place,
                                                        Instant now);
  void count(Call call, std::size_t size) REQUIRES(mu_);
  void count(const berth::lb::Place& place) REQUIRES(mu_);
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
  // Groups; without the option there are none, and none is missed.
  static berth::lb::ObservedListener half_of(const model::ListenerId& id, const Group& group);
  static void free_groups(Balancer& balancer, const model::ListenerId& user,
                          const model::RuleKey* key);
  model::ListenerId find_group(const Balancer& balancer, const Group& wanted) const;
  Result<Group> filled(const Balancer& balancer, Group wanted) const;
  Result<model::ListenerId> create_group(const model::LoadBalancerRef& lb, const Group& wanted)
      REQUIRES(mu_);
  Result<model::ListenerId> remove_group(const model::LoadBalancerRef& lb,
                                         const model::ListenerId& id) REQUIRES(mu_);
  Result<model::ListenerId> create_rule(const model::LoadBalancerRef& lb,
                                        const berth::lb::NewRule& wanted) REQUIRES(mu_);
  Result<model::ListenerId> make_one(const berth::lb::NewLoadBalancer& wanted) REQUIRES(mu_);
  Result<model::ListenerId> tag_one(const model::LoadBalancerRef& lb) REQUIRES(mu_);
  Result<model::ListenerId> unmake_one(const model::LoadBalancerRef& lb, const berth::lb::Tag& mark)
      REQUIRES(mu_);
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
  Balancers balancers_ GUARDED_BY(mu_);
  std::map<model::CredentialId, Credential> credentials_ GUARDED_BY(mu_);
  std::map<model::CredentialId, std::uint64_t> calls_with_ GUARDED_BY(mu_);
  std::map<model::LoadBalancerRef, std::set<model::CredentialId>> callers_ GUARDED_BY(mu_);
  std::map<std::uint64_t, SlowTask> tasks_ GUARDED_BY(mu_);
  std::uint64_t next_id_ GUARDED_BY(mu_) = 1;
  std::uint64_t next_task_ GUARDED_BY(mu_) = 1;
  std::array<std::uint64_t, kCalls> calls_ GUARDED_BY(mu_){};
  std::array<std::size_t, kCalls> largest_ GUARDED_BY(mu_){};
  std::vector<Change> untold_ GUARDED_BY(mu_);
  std::function<void(const Change&)> observer_ GUARDED_BY(mu_);
};

}  // namespace berth::sim::lb
