#include "sim/kernel/kernel.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/mutex.h"
#include "sim/kernel/scheduler.h"
#include "sim/kernel/sim_task.h"

namespace berth::sim {
namespace {

// Not the epoch of Instant: a default Instant is a moment long past, as on a real machine.
constexpr Instant kStart{std::chrono::seconds{10'000}};

// A caller that keeps its lock and tries to switch more often will not let go of it.
constexpr std::uint64_t kMaxRefusedSwitches = 10'000;

}  // namespace

Kernel::Kernel(std::uint64_t seed, Options options)
    : seed_(seed),
      options_(options),
      latency_random_(0),
      crash_random_(0),
      world_random_(0),
      trace_(options.trace_events),
      start_(kStart) {
  Random root(seed);
  scheduler_ = std::make_unique<Scheduler>(root.fork(), start_, trace_);
  latency_random_ = root.fork();
  crash_random_ = root.fork();
  world_random_ = root.fork();
  start_process("world");
}

Kernel::~Kernel() {
  on_crash({});
  for (TaskState* task : scheduler_->live()) {
    fmt::print(stderr, "simulation: task {} outlives its kernel\n", task->name);
    scheduler_->abandon(*task);
  }
}

Process& Kernel::start_process(std::string name, Crashable crashable) {
  note("process starts", name);
  processes_.push_back(std::unique_ptr<Process>(new Process(*this, std::move(name), crashable)));
  return *processes_.back();
}

void Kernel::crash(Process& process) {
  if (!process.alive_) return;
  note("crash of", process.name());
  process.alive_ = false;
  ++crashes_;
  for (TaskState* task : scheduler_->live()) {
    if (&task->process == &process) task->stop.request_stop();
    if (task->write_of == &process) {
      task->lands_late = crash_random_.chance(options_.late_write_chance);
    }
    if (task->waits_in == &process && !task->lands_late) scheduler_->wake(task->id);
  }
  std::erase_if(rebuilds_, [](const auto& task) { return static_cast<SimTask&>(*task).over(); });
  if (on_crash_) {
    rebuilds_.push_back(spawn(world(), "rebuild of " + process.name(),
                              [this, &process](std::stop_token) { on_crash_(process); }));
  }
}

void Kernel::on_crash(std::function<void(Process&)> callback) {
  // A running one may cause the next crash, whose rebuild is awaited as well.
  while (!rebuilds_.empty()) {
    const auto rebuild = std::move(rebuilds_.back());
    rebuilds_.pop_back();
    rebuild->join();
  }
  on_crash_ = std::move(callback);
}

Instant Kernel::now() const { return scheduler_->now(); }
WallTime Kernel::wall_time() const { return options_.wall_start + (now() - start_); }
std::uint64_t Kernel::steps() const { return scheduler_->steps(); }

RunReport Kernel::report() const {
  return {.trace_hash = trace_hash(), .steps = steps(), .writes = writes_, .crashes = crashes_};
}

void Kernel::note(std::string_view what, std::string_view about) {
  trace_.event(scheduler_->moment(), scheduler_->current_name(), what, about);
}

void Kernel::fail(std::string_view message) {
  if (failure_) return;
  note("fails:", message);
  failure_ = report_error(Code::internal, message);
}

Error Kernel::report_error(Code code, std::string_view message) const {
  const TaskState* const task = scheduler_->current();
  Error error = error_of(code, "seed {}, step {}{}: {}", seed_, steps(),
                         task ? ", task " + task->name : "", message);
  if (options_.trace_events > 0) error.hint = "the last events were\n" + trace_.recent();
  return error;
}

bool Kernel::may_switch(std::string_view call, std::string_view name) {
  if (locks_held() == 0 && !in_effect_) return true;
  fail(in_effect_ ? fmt::format("{} '{}' inside the effect of a seam call", call, name)
                  : fmt::format("{} '{}' with {} lock(s) held", call, name, locks_held()));
  if (++refused_switches_ > kMaxRefusedSwitches) {
    fmt::print(stderr, "simulation: {}\n", failure_->to_string());
    std::abort();
  }
  return false;
}

void Kernel::count_step_after_death(const Process& process) {
  TaskState* const task = scheduler_->current();
  if (process.alive() || ++task->steps_after_death <= options_.max_steps_after_death) return;
  fail(fmt::format("task {} does not end: {} steps after the death of process {}", task->name,
                   task->steps_after_death, process.name()));
  scheduler_->abandon_current();
}

std::optional<Error> Kernel::run_error() const {
  if (scheduler_->current()) return report_error(Code::invalid, "a task cannot run its kernel");
  return failure_;
}

Failure Kernel::stuck(Code code, std::string_view why) const {
  return berth::fail(report_error(code, fmt::format("{}: {}", why, scheduler_->describe_live())));
}

Failure Kernel::too_many_steps(RunLimits limits) const {
  return stuck(Code::exhausted, fmt::format("{} steps were not enough", limits.max_steps));
}

Failure Kernel::too_late(RunLimits limits) const {
  return stuck(Code::timeout, fmt::format("{} s of virtual time were not enough",
                                          to_seconds(limits.max_virtual_time)));
}

Result<> Kernel::run_until(const std::function<bool()>& done, RunLimits limits) {
  const Instant horizon = saturating_add(now(), limits.max_virtual_time);
  for (std::uint64_t taken = 0;; ++taken) {
    if (const auto error = run_error()) return berth::fail(*error);
    if (done()) return {};
    if (taken == limits.max_steps) return too_many_steps(limits);
    if (scheduler_->step(horizon)) continue;
    if (scheduler_->next_due() != kNever) return too_late(limits);
    return stuck(Code::internal, "deadlock, nothing can run");
  }
}

Result<> Kernel::run_until_quiescent(Duration idle, RunLimits limits) {
  const Instant horizon = saturating_add(now(), limits.max_virtual_time);
  for (std::uint64_t taken = 0;; ++taken) {
    if (const auto error = run_error()) return berth::fail(*error);
    if (taken == limits.max_steps) return too_many_steps(limits);
    const Instant quiet_until = saturating_add(now(), idle);
    if (scheduler_->step(std::min(quiet_until, horizon))) continue;
    if (scheduler_->next_due() <= quiet_until) return too_late(limits);
    return {};
  }
}

}  // namespace berth::sim
