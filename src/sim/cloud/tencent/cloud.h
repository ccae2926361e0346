// A simulated Tencent Cloud, as far as load balancers go: CLB 2018-03-17, and the few calls of vpc,
// cvm, cam, tag and ssl that controllers make. Strict: it verifies signatures and parameters, locks
// load balancers while tasks run, and counts calls.
//
// A plain machine: `handle` answers one request and returns; no threads, sockets, or clocks. Time
// comes in through `now` alone and must not go backwards by more than a caller can bear. Ids come
// from the seed, so the same calls give the same answers. Thread-safe: one lock inside, held over
// no call of others but those that a test hands in (`edit`).
//
// For a test of a driver:
//
//   Cloud cloud(Settings{});
//   cloud.add_account({.uin = "100000000001"});
//   cloud.add_key({.secret_id = "AKID...", .secret_key = Secret("..."), .account =
//   "100000000001"}); cloud.add_load_balancer({.id = "lb-room0001", .account = "100000000001",
//                            .region = "ap-guangzhou", .name = "rooms"}, now);
//   CloudTransport transport(cloud, {.round_trip = 50ms});   // transport.h: a net::Transport
//   cloud.inject({.kind = FaultKind::lose_reply, .action = "CreateListener"});
//   cloud.edit("lb-room0001", [](LoadBalancer& lb) { lb.listeners.clear(); });  // somebody's hand
//   cloud.load_balancer("lb-room0001")->listeners ...                          // what came of it
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/mutex.h"
#include "net/http.h"
#include "net/server.h"
#include "sim/cloud/tencent/actions.h"
#include "sim/cloud/tencent/faults.h"
#include "sim/cloud/tencent/policy.h"
#include "sim/cloud/tencent/settings.h"
#include "sim/cloud/tencent/state.h"
#include "sim/cloud/tencent/task_book.h"
#include "sim/cloud/tencent/throttle.h"
#include "wire/value.h"

namespace berth::sim::tencent {

// Instead of an HTTP status: the call was served and its answer is lost on the way. The caller must
// see a connection that ends, or silence.
inline constexpr int kLostReply = 0;
inline bool is_lost(const net::Reply& reply) { return reply.status == kLostReply; }

// How often an action was called, by what came of it.
struct CallCount {
  std::uint64_t answered = 0;   // without an error
  std::uint64_t refused = 0;    // with one
  std::uint64_t throttled = 0;  // with RequestLimitExceeded; part of `refused`

  friend bool operator==(const CallCount&, const CallCount&) = default;
};

class Cloud {
 public:
  explicit Cloud(Settings settings);

  // POST / is the API of all services. GET / shows the state as a page, or as JSON to who accepts
  // no HTML; GET /dump is always JSON.
  net::Reply handle(const net::Request& request, WallTime now);

  // --- what there is ---
  void add_account(Account account);
  void add_key(AccessKey key);
  void remove_key(const std::string& secret_id);
  // Returns its id: the one given, or one made up.
  std::string add_load_balancer(LoadBalancer lb, WallTime now);
  // A listener that nobody's call made. Without an id it gets one. Returns its id; empty when there
  // is no such load balancer. A layer 4 listener without a rule gets one.
  std::string add_listener(const std::string& lb, Listener listener);

  // --- somebody's hand: changes that no call made, whatever tasks run. False: not there. ---
  bool edit(const std::string& lb, const std::function<void(LoadBalancer&)>& change);
  bool edit_account(const std::string& uin, const std::function<void(Account&)>& change);
  bool remove_load_balancer(const std::string& lb);
  // What health checks find at an address from now on; nullopt: healthy after a while, as usual.
  void set_health(const std::string& ip, std::int64_t port, std::optional<Health> health);

  // --- what goes wrong ---
  void inject(Fault fault);
  void clear_faults();
  // Those that befell a call; one that waits in vain is none.
  FaultsTaken faults_taken() const;
  std::size_t faults_waiting() const;
  void change_settings(const std::function<void(Settings&)>& change);

  // --- what came of it, as of `handle`'s last `now`, or `advance`'s ---
  void advance(WallTime now);  // ends tasks that are over
  std::optional<LoadBalancer> load_balancer(const std::string& id) const;
  std::vector<std::string> load_balancer_ids() const;
  std::size_t running_tasks() const;
  std::map<std::string, CallCount> calls() const;  // by action
  void reset_calls();
  // Everything but secrets.
  wire::Value dump() const;

  // --- for whoever carries its traffic (sim/cloud/traffic) ---
  // Load balancers that have changed since this was asked last. One asks.
  std::set<std::string> take_changed();
  std::vector<std::string> vips(const std::string& lb) const;
  // Where each listener is open, or why it is not: shown with the state.
  void tell_traffic(const std::string& lb, std::map<std::string, std::string> by_listener);

 private:
  struct Request;  // a signed call on its way
  net::Reply answer(const net::Request& request, WallTime now) REQUIRES(mu_);
  Outcome<Request> admit(const net::Request& request, WallTime now) REQUIRES(mu_);
  Outcome<wire::Object> serve(const net::Request& request, const Request& admitted,
                              const std::string& id, WallTime now) REQUIRES(mu_);
  wire::Value dump_locked() const REQUIRES(mu_);

  mutable Mutex mu_;
  State state_ GUARDED_BY(mu_);
  std::map<std::string, Service> services_ GUARDED_BY(mu_);
  TaskBook tasks_ GUARDED_BY(mu_);
  Throttle throttle_ GUARDED_BY(mu_);
  Faults faults_ GUARDED_BY(mu_);
  std::map<std::string, CallCount> calls_ GUARDED_BY(mu_);
};

}  // namespace berth::sim::tencent
