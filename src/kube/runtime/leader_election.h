// One leader among replicas, by a Lease of coordination.k8s.io.
//
// A lease is valid for as long as this replica itself saw it not change, measured with its own
// monotonic clock; the times written in it are for people. `may_write` is the fence: true only
// while the last successful renewal is younger than the renew deadline, which is shorter than the
// time after which others take over. Any task may ask it. Losing the lease ends the process: what
// was begun under it must not go on.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/context.h"
#include "base/random.h"
#include "kube/client/client.h"

namespace berth::kube {

struct LeaderElectionOptions {
  std::string ns = "default";
  std::string name = "berth";
  std::string identity;  // unique per process: host name and a random part
  Duration lease_duration = std::chrono::seconds{15};
  Duration renew_deadline = std::chrono::seconds{10};
  Duration retry_period = std::chrono::seconds{2};
  double retry_jitter = 1.2;
  metrics::Registry* registry = nullptr;
};

class LeaderElector {
 public:
  LeaderElector(Client& client, LeaderElectionOptions options, Random random);
  ~LeaderElector();

  // Blocks until this replica leads. Fails only with `stopped` or `timeout`.
  Result<> acquire(const Context& context);
  // Renews until the stop (success) or until the lease is lost (`conflict`, with the new holder in
  // the message).
  Result<> hold(const Context& context);
  // Gives the lease up, so that another need not wait for it to run out. Only after all work under
  // it has ended.
  Result<> release(const Context& context);

  bool may_write(Instant now) const;

 private:
  struct Observed;  // the lease as last seen, and when it last changed
  Result<bool> try_once(const Context& context);
  Result<bool> renew_known(const Context& context);
  Result<bool> take_or_wait(const Context& context);
  Result<bool> write(const Context& context, wire::Value lease, bool exists, Instant begun);
  Result<> write_released(const Context& context, wire::Value lease);
  void observe(wire::Value lease, Instant at);
  void set_leading(bool leading);

  Client& client_;
  const LeaderElectionOptions options_;
  Random random_;
  std::unique_ptr<Observed> observed_;
  std::atomic<Instant> last_renewal_{Instant::min()};
  std::atomic<bool> leading_{false};
  metrics::Gauge* status_ = nullptr;
  metrics::Counter* slow_path_ = nullptr;
};

}  // namespace berth::kube
