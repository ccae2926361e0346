// HAProxy as a child of this process: started when there is something to carry, told what changed,
// started again when it ends by itself, and gone with its owner.
//
// It has a thread, which alone speaks with HAProxy; calls of any thread wait for it. What is to be
// carried is read when that thread is ready, so that calls that come together cost one change.
#pragma once

#include <functional>
#include <thread>

#include "base/context.h"
#include "base/mutex.h"
#include "edge/haproxy/runner.h"

namespace berth::edge::haproxy {

// Between an end that nobody asked for and the next start; twice as long after each that follows.
inline constexpr Duration kFirstPause = std::chrono::milliseconds{100};
inline constexpr Duration kLongestPause = std::chrono::seconds{10};
// One that ran so long has started well.
inline constexpr Duration kGoodRun = std::chrono::seconds{30};
// After HAProxy refused a site, the others go without it for so long.
inline constexpr Duration kRefusedFor = std::chrono::seconds{10};

using Refusals = std::map<std::string, Error>;  // by the names of sites

struct Counts {
  std::uint64_t starts = 0;
  std::uint64_t reloads = 0;
  int worker = 0;  // its process id; 0: it does not run
};

class Supervisor {
 public:
  struct Options {
    std::string program{};
    Duration look = std::chrono::seconds{1};  // between two looks at what it counted
  };
  // Both are called on the supervisor's thread, without a lock.
  using Read = std::function<std::shared_ptr<const State>()>;
  // What it counted, and by which worker.
  using OnStats = std::function<void(int worker, const std::vector<Stat>& stats)>;

  static Result<std::unique_ptr<Supervisor>> start(Options options, Read read, OnStats on_stats);
  // Ends HAProxy and all that goes through it.
  ~Supervisor();

  // Returns when what `read` gives now, or gave after this call, is carried; but for the sites that
  // are returned. `unavailable`: HAProxy does not run.
  Result<Refusals> apply(const Context& context);
  // The same without waiting. Does not call `read`.
  void poke();
  // Takes nothing new, for ever. What goes through it ends by itself.
  void finish();
  bool runs() const { return counts().worker != 0; }
  Counts counts() const;

 private:
  struct Waiter;
  Supervisor(Options options, PrivateFolder folder, Read read, OnStats on_stats, Fd wake);

  void run(const std::stop_token& stop);
  void serve();
  void bring_about();
  Result<> carry(const State& state);
  void look_at_child();
  void look_at_stats();
  Instant next_look(bool asked) const;
  void wait_until(Instant until) const;
  void answer(const Result<>& outcome, std::uint64_t up_to);
  void show_counts();

  const Options options_;
  const Read read_;
  const OnStats on_stats_;
  const Fd wake_;

  // Of the thread alone.
  Runner runner_;
  Refusals refused_;
  Instant refused_until_ = kNever;
  Instant may_start_{};
  Instant started_{};
  Instant next_stats_{};
  Duration pause_ = kFirstPause;
  bool fell_ = false;  // it ended by itself, and is to be started again
  bool over_ = false;

  mutable Mutex mu_;
  std::vector<std::shared_ptr<Waiter>> waiters_ GUARDED_BY(mu_);
  std::uint64_t asked_ GUARDED_BY(mu_) = 0;
  bool dirty_ GUARDED_BY(mu_) = false;
  bool finish_ GUARDED_BY(mu_) = false;
  Counts counts_ GUARDED_BY(mu_);

  std::jthread thread_;  // last: it uses the others
};

}  // namespace berth::edge::haproxy
