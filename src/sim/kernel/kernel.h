// The deterministic simulation kernel: simulated processes on one OS thread and a virtual clock.
//
// Code above `Tasks` runs in it unchanged. Every task is a fiber, every wait and every seam call is
// a point where the seeded scheduler may switch, and the same seed always gives the same run. A
// crash makes a process's seams dead; its tasks run out, and the world builds a new process from
// what is stored outside.
//
// The world owns the kernel and destroys everything that runs on it first. All calls come from the
// thread that made it: from its tasks, or from outside while none runs. A call from outside that
// has to wait runs the scheduler meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/tasks.h"
#include "sim/kernel/crash_plan.h"
#include "sim/kernel/trace.h"

namespace berth::sim {

class Kernel;
class Scheduler;
class SimSignal;
struct TaskState;

// Whether a seam call changes the world outside. Only writes are counted and crashed.
enum class Effect : std::uint8_t { read, write };

enum class Crashable : std::uint8_t { no, yes };

struct KernelOptions {
  CrashPlan crash = NoCrash{};
  // The virtual time of a seam call, there and back, evenly between the two.
  Duration min_latency{};
  Duration max_latency{};
  // How likely a write that was under way when its process crashed still takes effect.
  double late_write_chance = 0;
  WallTime wall_start{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
  // A task that switches more often after its process died is reported: it does not end.
  std::uint64_t max_steps_after_death = 10'000;
  // Events that a failure shows.
  std::size_t trace_events = 40;
};

struct RunLimits {
  std::uint64_t max_steps = 1'000'000;
  Duration max_virtual_time = std::chrono::hours{24};
};

// What a run was. Two runs of one seed give equal reports.
struct RunReport {
  std::uint64_t trace_hash = 0;
  std::uint64_t steps = 0;
  std::uint64_t writes = 0;  // by crashable processes
  std::uint64_t crashes = 0;
  friend bool operator==(const RunReport&, const RunReport&) = default;
};

// A simulated OS process. Owned by its kernel, also after its death.
class Process final : public Tasks {
 public:
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const std::string& name() const { return name_; }
  bool alive() const { return alive_; }
  bool crashable() const { return crashable_; }
  // How far its wall clock is ahead of the world's; behind, if negative.
  void skew_clock(Duration ahead) { clock_ahead_ = ahead; }
  Kernel& kernel() const { return kernel_; }

  // In a dead process time goes on, waits yield and return false, and a new task finds its stop
  // requested.
  Instant now() override;
  WallTime wall_time() override;
  std::unique_ptr<Signal> signal() override;
  bool wait(Signal& signal, Instant until, std::stop_token stop) override;
  [[nodiscard]] std::unique_ptr<Task> spawn(std::string name,
                                            std::function<void(std::stop_token)> body) override;

 private:
  friend class Kernel;
  Process(Kernel& kernel, std::string name, Crashable crashable)
      : kernel_(kernel), name_(std::move(name)), crashable_(crashable == Crashable::yes) {}

  Kernel& kernel_;
  std::string name_;
  bool crashable_;
  bool alive_ = true;
  Duration clock_ahead_{};
};

class Kernel {
 public:
  using Options = KernelOptions;

  explicit Kernel(std::uint64_t seed, Options options = {});
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  Process& start_process(std::string name, Crashable crashable = Crashable::no);
  // A process that never crashes, for the world's own tasks.
  Process& world() { return *processes_.front(); }

  // Kills the process: its calls return `stopped` without effect and all its tasks are told to
  // stop. Killing it again changes nothing.
  void crash(Process& process);
  // Called on a task of `world()` after each crash: the place to destroy what ran in the dead
  // process and to build its successor. Before the callback is replaced, running ones end; a world
  // that goes away replaces it by none.
  void on_crash(std::function<void(Process&)> callback);
  void set_crash_plan(CrashPlan plan) { options_.crash = plan; }

  // Runs until `done`, which is asked after each step. The error says what every task waits for.
  Result<> run_until(const std::function<bool()>& done, RunLimits limits = {});
  // Runs until no task is ready and no timer ends within `idle`.
  Result<> run_until_quiescent(Duration idle, RunLimits limits = {});

  // Records that an invariant does not hold. The first one counts: the run returns it.
  void fail(std::string_view message);
  const std::optional<Error>& failure() const { return failure_; }

  Instant now() const;
  WallTime wall_time() const;
  std::uint64_t seed() const { return seed_; }
  std::uint64_t steps() const;
  std::uint64_t writes_seen() const { return writes_; }
  std::uint64_t crashes() const { return crashes_; }
  std::uint64_t trace_hash() const { return trace_.hash(); }
  std::string recent_events() const { return trace_.recent(); }
  RunReport report() const;
  // Folds a fact of the world (a version, a state) into the trace.
  void note(std::string_view what, std::string_view about);
  // A generator for faults of the world, independent of the schedule.
  Random fork_random() { return world_random_.fork(); }

 private:
  friend class Process;
  friend class SeamCall;
  friend class SimSignal;
  friend class SimTask;

  bool wait(Process& process, SimSignal& signal, Instant until, const std::stop_token& stop);
  std::unique_ptr<Task> spawn(Process& process, const std::string& name,
                              std::function<void(std::stop_token)> body);
  void join(TaskState& task);

  Duration latency();
  // One way of a seam call. False: the call ends here with `stopped`.
  bool travel(Process& process, std::string_view label, bool carries_write);
  std::optional<CrashSide> next_write(const Process& process);

  // Whether the caller may switch: it must hold no lock and apply no effect. If not, the run has
  // failed and the caller returns without switching, since others would find the lock taken.
  bool may_switch(std::string_view call, std::string_view name);
  void run_as_task(Process& process, std::string name, const std::function<void()>& body);
  void count_step_after_death(const Process& process);
  Error report_error(Code code, std::string_view message) const;
  // The error of a run that cannot go on; none while it can.
  std::optional<Error> run_error() const;
  Failure stuck(Code code, std::string_view why) const;
  Failure too_many_steps(RunLimits limits) const;
  Failure too_late(RunLimits limits) const;

  std::uint64_t seed_;
  Options options_;
  Random latency_random_;
  Random crash_random_;
  Random world_random_;
  Trace trace_;
  Instant start_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::function<void(Process&)> on_crash_;
  std::vector<std::unique_ptr<Task>> rebuilds_;  // the tasks that run on_crash_
  std::optional<Error> failure_;
  std::uint64_t writes_ = 0;
  std::uint64_t crashes_ = 0;
  std::uint64_t signals_ = 0;
  std::uint64_t refused_switches_ = 0;
  bool in_effect_ = false;
};

// The part of a seam call that does not depend on its types: see `seam`.
class SeamCall {
 public:
  SeamCall(Process& process, std::string_view label, Effect effect)
      : process_(process), label_(label), effect_(effect) {}

  // True: the effect is to be applied now, and `returns` called after it.
  bool arrives();
  // True: the caller gets the reply.
  bool returns(std::optional<Code> error);
  Failure stopped() const;

 private:
  void note(std::string_view what);

  Process& process_;
  std::string_view label_;
  Effect effect_;
  bool crash_after_ = false;
};

template <class T>
struct SeamReplyOf {
  using type = Result<T>;
};
template <class T>
struct SeamReplyOf<Result<T>> {
  using type = Result<T>;
};

// A call from a simulated process to something outside of it: an API server, a cloud.
//
// The request travels, `apply` has its effect in one piece (it must not wait), the reply travels.
// Others run while it travels. A process that is dead or dies meanwhile gets `stopped`; a write
// may be where a crashable one dies, before the effect or after it.
template <class F>
auto seam(Process& process, std::string_view label, Effect effect, F&& apply) ->
    typename SeamReplyOf<std::invoke_result_t<F&>>::type {
  using Value = std::invoke_result_t<F&>;
  using Reply = typename SeamReplyOf<Value>::type;
  SeamCall call(process, label, effect);
  if (!call.arrives()) return call.stopped();
  Reply reply = [&]() -> Reply {
    if constexpr (std::is_void_v<Value>) {
      apply();
      return {};
    } else {
      return apply();
    }
  }();
  if (!call.returns(reply ? std::nullopt : std::optional(reply.error().code))) {
    return call.stopped();
  }
  return reply;
}

}  // namespace berth::sim
