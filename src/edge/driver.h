// EdgeDriver: a load balancer of our own that carries TCP and UDP in this process, and HTTP, HTTPS
// and TLS that ends here by a HAProxy beside it. Such listeners are called sites.
//
// Any load balancer that the address plan knows is there; by default that is any id at all. What
// listeners there are lives in memory: a new process begins with none, and whoever drives it
// creates them again. Ids are unique over processes. A listener has sockets only while somebody can
// be reached: TCP, while a target has a weight above 0; UDP, while there is a target. A target with
// weight 0 keeps what it has and gets nothing new; what goes to a target that is removed is reset
// before the call returns. If all targets of a listener are unhealthy, traffic goes to all of them.
// A client whose target is not reached is given another one.
//
// Nobody is carried to addresses that no Pod has, nor to places where this process itself listens
// (target_rules.h): such a target is `invalid`, and hears nothing of us.
//
// Bounds are the options below. A listener that finds no file descriptor is `exhausted`: it has its
// own part of them, which connections are not given. A connection is reset and counted.
// Thread-safe; owned by the composition root.
#pragma once

#include <optional>

#include "base/mutex.h"
#include "edge/data_plane.h"
#include "edge/haproxy/supervisor.h"
#include "edge/health_checker.h"
#include "edge/listener_table.h"
#include "edge/site_book.h"
#include "edge/target_rules.h"
#include "lb/certificates.h"
#include "lb/driver.h"
#include "lb/health_followers.h"

namespace berth::edge {

// More threads than this gain little for what they cost in sharing.
inline constexpr std::size_t kMaxDefaultThreads = 4;
// Every port of both protocols: no bound beyond that.
inline constexpr std::uint32_t kListenerQuota = 2 * 65'535;

struct EdgeOptions {
  AddressPlan addresses = loopback_plan();
  std::string type = "OPEN";
  std::size_t threads = 0;          // 0: the cores, at most kMaxDefaultThreads
  std::size_t fd_budget = 0;        // 0: default_fd_budget()
  std::size_t listening_files = 0;  // of them; 0: default_listening_files()
  // TCP connections, and UDP sessions, at one time; 0: default_seat_bounds() of each protocol.
  std::size_t connections_per_listener = 0;
  std::size_t connections_per_client = 0;
  std::uint32_t listener_quota = kListenerQuota;  // of each load balancer
  std::optional<LowPorts> low_ports{};            // none: low_ports_of_process()
  bool loopback_targets = false;  // Pods may be on loopback, as in a playground and in tests
  Duration udp_idle = std::chrono::seconds{60};
  std::size_t max_udp_sessions = 0;  // of all threads; 0: default_udp_sessions()
  // How long a second of health checks, of `session_seconds` and of patience with targets lasts;
  // tests make it short.
  Duration second = std::chrono::seconds{1};
  // Of sites. Where their certificates are; none: such listeners are refused.
  std::shared_ptr<lb::CertificateSource> certificates{};
  // Where HAProxy is; it is asked for each time that the first site is made, so that it may be
  // installed later.
  std::function<std::string()> haproxy = edge::haproxy::find_program;
};

struct TargetSnapshot {
  model::WeightedTarget target{};
  bool healthy = true;
  std::uint64_t connections = 0;
  std::uint64_t active = 0;
};

// A listener of TCP or UDP and what it has carried. Connections are TCP connections or UDP
// sessions.
struct ListenerSnapshot : Tally {
  model::LoadBalancerRef lb{};
  model::ListenerId id{};
  std::string name{};
  model::Transport protocol = model::Transport::tcp;
  model::PortRange ports{};
  bool open = false;
  std::vector<TargetSnapshot> targets{};
};

struct EdgeSnapshot {
  std::vector<ListenerSnapshot> listeners{};
  std::size_t fds_used = 0;
  std::size_t fd_budget = 0;
};

struct FdUse {
  std::size_t used = 0;
  std::size_t budget = 0;
  std::size_t listening = 0;      // of those in use
  std::size_t for_listening = 0;  // of the budget
};

struct SiteCall;

class EdgeDriver final : public lb::Listeners, public lb::Directory, public lb::HealthFeed {
 public:
  static Result<std::unique_ptr<EdgeDriver>> start(EdgeOptions options = {});
  ~EdgeDriver() override;

  const model::Abilities& abilities() const override;
  std::vector<Result<model::LoadBalancerInfo>> describe(
      const Context& context, const model::CredentialId& credential,
      std::span<const model::LoadBalancerRef> lbs) override;
  // Names are ids here, and nothing has tags.
  Result<std::vector<lb::FoundLoadBalancer>> search(const Context& context,
                                                    const model::CredentialId& credential,
                                                    const lb::DirectoryQuery& query) override;
  Result<std::vector<lb::ObservedListener>> list(const Context& context,
                                                 const lb::Place& place) override;
  Result<std::vector<lb::ObservedListener>> look_up(
      const Context& context, const lb::Place& place,
      std::span<const lb::Question> questions) override;
  std::vector<Result<model::ListenerId>> create(
      const Context& context, const lb::Place& place,
      std::span<const model::ListenerSpec> wanted) override;
  std::vector<Result<>> remove(const Context& context, const lb::Place& place,
                               std::span<const model::ListenerId> ids) override;
  std::vector<Result<>> change(const Context& context, const lb::Place& place,
                               std::span<const lb::ListenerChange> changes) override;
  std::vector<Result<>> create_rules(const Context& context, const lb::Place& place,
                                     std::span<const lb::NewRule> wanted) override;
  std::vector<Result<>> remove_rules(const Context& context, const lb::Place& place,
                                     std::span<const lb::RuleRef> rules) override;
  std::vector<Result<>> change_rules(const Context& context, const lb::Place& place,
                                     std::span<const lb::RuleChange> changes) override;
  std::vector<Result<>> change_targets(const Context& context, const lb::Place& place,
                                       std::span<const lb::TargetChange> changes) override;

  std::vector<lb::TargetHealth> last(const model::LoadBalancerRef& lb) const override;
  // Told by the health checker: nothing is polled. A target without a check is `unknown`.
  std::unique_ptr<lb::Following> follow(const lb::Place& place, const lb::RuleRef& rule,
                                        OnHealth on_health) override;

  lb::Driver seams() { return {.listeners = this, .directory = this, .health = this}; }

  // Where servers of this process and the API server are: nobody is carried there. A target that
  // is there already is left.
  void set_own_endpoints(std::vector<Endpoint> endpoints);
  // Takes nothing new any more, on no listener, and returns when all connections have ended or the
  // context has: how many are left then. What there is stays as it is, so only its end should
  // follow. UDP has no connections that could end: its sessions go with their sockets.
  std::size_t drain(const Context& context);

  EdgeSnapshot snapshot() const;
  // What was carried since the start, also by listeners that are gone.
  Tallies totals() const;
  // The same of sites, and how HAProxy fares; nothing: there was none to carry.
  SiteTallies site_totals() const { return site_book_.sums(); }
  std::optional<haproxy::Counts> haproxy() const;
  FdUse files() const;

 private:
  EdgeDriver(EdgeOptions options, LowPorts low_ports, std::unique_ptr<DataPlane> plane,
             std::unique_ptr<HealthChecker> health);

  Result<model::LoadBalancerInfo> describe_one(const model::LoadBalancerRef& lb) const;
  Result<std::vector<SocketAddress>> vips_of(const model::LoadBalancerRef& lb) const;
  Result<model::ListenerId> create_one(const model::LoadBalancerRef& lb,
                                       const std::vector<SocketAddress>& vips,
                                       const model::ListenerSpec& wanted,
                                       SiteCertificates certificates) REQUIRES(mu_);
  ListenerPtr carrier_of(const ListenerRecord& record) const;
  // Its only rule has no key. `not_found`: there is no such listener or rule.
  Result<ListenerRecord*> find(const model::LoadBalancerRef& lb, const lb::RuleRef& rule)
      REQUIRES(mu_);
  Result<> change_one(const model::LoadBalancerRef& lb, const lb::TargetChange& change,
                      SiteCall& sites, std::size_t entry) REQUIRES(mu_);
  Result<> change_one(const model::LoadBalancerRef& lb, const lb::RuleChange& change) REQUIRES(mu_);
  Result<> retarget(ListenerRecord& record, std::vector<model::WeightedTarget> targets)
      REQUIRES(mu_);
  std::optional<std::string> why_refused(const ForwardSpec& spec, const model::Target& target) const
      REQUIRES(mu_);
  Result<> check_target(const ListenerRecord& record, const ForwardSpec& spec,
                        const model::Target& target) const REQUIRES(mu_);
  Result<> check_attributes(const ListenerRecord& record,
                            const model::RuleAttributes& attributes) const REQUIRES(mu_);
  void leave_own_places(std::span<ListenerRecord* const> records) REQUIRES(mu_);
  // Those of its targets that are not; the others are told to the log.
  std::vector<model::WeightedTarget> not_own_places(const ListenerRecord& record,
                                                    const ForwardSpec& spec) const REQUIRES(mu_);
  void remove_one(ListenerRecord& record) REQUIRES(mu_);
  Result<std::vector<BoundSocket>> open_sockets(const ListenerRecord& record);
  void close_sockets(ListenerRecord& record) REQUIRES(mu_);
  // How the targets of a listener are; with a key, of one rule.
  void add_health(const ListenerRecord& record, const std::optional<model::RuleKey>& key,
                  std::vector<lb::TargetHealth>& out) const;
  // Starts, changes or ends what is asked of the listener's targets; followers hear of it.
  void check_health(const ListenerRecord& record) REQUIRES(mu_);
  std::size_t connections() const;
  void settle(const Context& context);
  model::ListenerId id_for(const model::LoadBalancerRef& lb, const ForwardSpec& spec) REQUIRES(mu_);

  // Of sites (driver_sites.cpp). Checks first, so that nobody is asked for certificates in vain;
  // of others, none.
  Result<SiteCertificates> certificates_of(const Context& context,
                                           const model::ListenerSpec& wanted,
                                           lb::CertificateSource* source);
  Result<haproxy::Supervisor*> supervisor();
  std::shared_ptr<const haproxy::State> site_state() const;
  Result<ListenerRecord*> find_site(const model::LoadBalancerRef& lb, const model::ListenerId& id)
      REQUIRES(mu_);
  Result<> open_site(ListenerRecord& record) REQUIRES(mu_);
  Result<> set_rules(ListenerRecord& record, std::vector<model::Rule> rules) REQUIRES(mu_);
  Result<> put_rule(ListenerRecord& record, const lb::RuleRef& rule,
                    const model::RuleAttributes& attributes, SiteCertificates certificates)
      REQUIRES(mu_);
  Result<> retarget_rule(ListenerRecord& record, const lb::TargetChange& change) REQUIRES(mu_);
  Result<> check_targets(const ListenerRecord& record, const model::Rule& rule,
                         std::span<const model::WeightedTarget> targets) const REQUIRES(mu_);
  void leave_own_places_in_rules(ListenerRecord& record) REQUIRES(mu_);
  Result<> change_site(ListenerRecord& record, const lb::ListenerChange& change,
                       SiteCertificates certificates) REQUIRES(mu_);
  // Returns when HAProxy does what the call wants. What it refuses is taken back.
  void settle(const Context& context, SiteCall& call, std::span<Result<>> outcomes);
  void wait_until_free(const Context& context, std::span<const SocketAddress> addresses);
  void renew_certificates(const Context& context, const model::LoadBalancerRef& lb);
  void note_stats(int worker, const std::vector<haproxy::Stat>& stats);

  const EdgeOptions options_;
  const LowPorts low_ports_;
  // Shared with listeners, the last of which may end after the driver.
  const std::shared_ptr<TallyBook> book_ = std::make_shared<TallyBook>();
  mutable Mutex mu_;
  ListenerTable table_ GUARDED_BY(mu_);
  std::vector<Endpoint> own_endpoints_ GUARDED_BY(mu_);
  // Listeners whose sockets were to be closed, and how many of them surely are.
  std::uint64_t closes_asked_ GUARDED_BY(mu_) = 0;
  std::uint64_t closes_done_ GUARDED_BY(mu_) = 0;
  lb::HealthFollowers followers_;
  const std::unique_ptr<DataPlane> plane_;
  const std::unique_ptr<HealthChecker> health_;  // it uses the plane's budget
  SiteBook site_book_;
  // Made with the first site, and never replaced. Last: its thread uses the others.
  std::unique_ptr<haproxy::Supervisor> supervisor_ GUARDED_BY(mu_);
};

}  // namespace berth::edge
