// One leader among replicas, by a Lease of coordination.k8s.io.
//
// A lease is valid for as long as this replica itself saw it not change, measured with its own
// monotonic clock; the times written in it are for people. `may_write` is the fence: true only
// while the last successful renewal is younger than the renew deadline, which is shorter than the
// time after which others take over. It closes at once when the Lease is found gone or with another
// holder. Any task may ask it; the rest is for one task.
//
// Anybody may delete the Lease, and its holder writes on until it finds out. So whoever makes a new
// one cannot know that nobody leads: it leads with the first renewal after a whole lease duration.
// Two need not wait: a leader whose fence is still open when it has made it anew, and the first
// replica of an installation, before which nobody led.
//
// Whoever holds it can say something of itself to the others (`notice`): an annotation of the
// Lease, written with the renewals that are made anyway, and read with the looks at it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/context.h"
#include "base/mutex.h"
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
  // What the holder says of itself; asked before every renewal. Nothing: no annotation.
  std::function<std::string()> notice = [] { return std::string(); };
  // The API server answers again, after a renew deadline or longer in which it did not: it may have
  // missed this replica as well. Told to whoever asks for the lease, leader or not.
  std::function<void()> on_answer_again = [] {};
  // Nobody can have led before we did, if we begin before this moment.
  std::function<Instant()> nobody_led_until = [] { return Instant::min(); };
  metrics::Registry* registry = nullptr;
};

inline constexpr std::string_view kNoticeAnnotation = "berth.dev/leader";

// Who holds the Lease, as it was last read or written. What it says proves nothing.
struct LeaseHolder {
  std::string identity{};  // empty: nobody, or it was never seen
  std::string notice{};
};

class LeaderElector {
 public:
  LeaderElector(Client& client, LeaderElectionOptions options, Random random);
  ~LeaderElector();

  // Blocks until this replica leads. Fails only with `stopped` or `timeout`.
  Result<> acquire(const Context& context);
  // Renews until the stop (success) or until the lead is lost: `conflict` when another holds the
  // Lease now, `unavailable` when it could not be renewed in time or was taken away.
  Result<> hold(const Context& context);
  // After a lead that was lost without a successor: blocks until this replica leads again. Fails
  // with `conflict` when it reads a Lease that another holds.
  Result<> regain(const Context& context);
  // Gives the lease up, so that another need not wait for it to run out. Only after all work under
  // it has ended.
  Result<> release(const Context& context);

  bool may_write(Instant now) const;
  // Any task.
  LeaseHolder holder() const;

 private:
  enum class Standing : std::uint8_t {
    leads,
    waits,    // for its time: the Lease is ours, or nobody's
    follows,  // another holds it
  };
  struct Observed;  // the lease as last seen, and when it last changed
  Result<Standing> try_once(const Context& context);
  Result<Standing> renew_or_look(const Context& context);
  void note_answer(const Result<Standing>& tried, Instant now);
  Result<Standing> look_and_take(const Context& context);
  Result<Standing> write(const Context& context, wire::Value lease, bool exists, Instant begun);
  Instant leads_after_making_it(Instant now) const;
  Result<> write_released(const Context& context, wire::Value lease);
  bool has_run_out(const wire::Value& lease, Instant now) const;
  void observe(wire::Value lease, Instant at);
  void set_leading(bool leading);
  Error taken_by_another() const;

  Client& client_;
  const LeaderElectionOptions options_;
  Random random_;
  std::unique_ptr<Observed> observed_;
  std::optional<Instant> silent_since_{};  // the API server does not answer
  bool missing_ = false;                   // there was no Lease when we last looked
  Instant leads_from_ = Instant::min();  // a renewal that was begun earlier does not open the fence
  std::atomic<Instant> fence_end_{Instant::min()};
  std::atomic<bool> leading_{false};
  metrics::Gauge* status_ = nullptr;
  metrics::Counter* slow_path_ = nullptr;
  mutable Mutex mu_;
  LeaseHolder holder_ GUARDED_BY(mu_);
};

}  // namespace berth::kube
