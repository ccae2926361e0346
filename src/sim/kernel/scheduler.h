// Who runs next, and what time it is: the tasks of a kernel, the ready ones, the timers and the
// virtual clock. Inside the folder only.
//
// One task runs at a time. Which of the ready ones goes on is drawn from the seed; time stands
// still while any is ready, then jumps to the next timer. Tasks whose timers end together become
// ready together, so the seed breaks their tie as well.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "sim/kernel/fiber.h"
#include "sim/kernel/trace.h"

namespace berth::sim {

class Process;
class Scheduler;

// Counted from 1. Others refer to a task by id, never by address: it may be over by then.
using TaskId = std::uint32_t;
inline constexpr TaskId kNobody = 0;

// What a blocked task waits for, for reports. The name lives as long as the blocked call.
struct Waiting {
  enum class On : std::uint8_t { nothing, signal, peer, task_end };
  On on = On::nothing;
  std::string_view name{};
  std::uint64_t number = 0;
};

struct TaskState {
  enum class Phase : std::uint8_t { ready, running, blocked, ended, abandoned };

  TaskState(std::string task_name, Process& task_process, Fiber::Entry entry)
      : name(std::move(task_name)), process(task_process), fiber(entry, this) {}
  bool over() const { return phase == Phase::ended || phase == Phase::abandoned; }

  TaskId id = kNobody;
  std::string name;  // "process/task"
  Process& process;
  std::function<void(std::stop_token)> body{};
  std::stop_source stop{};
  Fiber fiber;

  Phase phase = Phase::ready;
  Waiting waiting{};
  Instant due = kNever;               // when a blocked task wakes by itself
  const Process* waits_in = nullptr;  // the process whose crash wakes it
  TaskId joiner = kNobody;
  std::uint64_t steps_after_death = 0;
  const Process* write_of = nullptr;  // whose write is on its way to the peer
  bool lands_late = false;            // that write takes effect although its process died

  struct Wake {
    Scheduler* scheduler;
    TaskId id;
    void operator()() const noexcept;
  };
  // Here and not on the fiber's stack, so that an abandoned task can be cut off.
  std::optional<std::stop_callback<Wake>> on_stop{};
};

class Scheduler {
 public:
  Scheduler(Random random, Instant start, Trace& trace)
      : random_(random), now_(start), trace_(trace) {}

  Instant now() const { return now_; }
  std::uint64_t steps() const { return steps_; }
  Trace::Moment moment() const { return {steps_, now_}; }
  // The running task; none outside of all fibers.
  TaskState* current() const { return current_; }
  std::string_view current_name() const {
    if (!current_) return "outside";
    return current_->name;
  }

  void start(TaskState& task);
  // Null if it is over.
  TaskState* find(TaskId id) const { return by_id_[id]; }
  // Makes a blocked task ready; nothing if it is not blocked or is over.
  void wake(TaskId id);
  // Never runs it again. Its joiner goes on.
  void abandon(TaskState& task);

  // On the running task: lets others run, at the same instant.
  void yield();
  // On the running task: returns after a wake or at `until`.
  void block(Instant until, const Process* waits_in, Waiting waiting);
  // On the running task: never returns.
  [[noreturn]] void abandon_current();

  // Runs one ready task until it switches; moves the clock, at most to `horizon`, when none is
  // ready. False: nothing to run until then.
  bool step(Instant horizon);
  // The next timer; kNever if there is none.
  Instant next_due() const { return timers_.empty() ? kNever : timers_.begin()->first; }

  // Those that are not over, in the order of their start.
  std::vector<TaskState*> live() const;
  // "a/worker waits for signal 3 of a, until never; a/other is ready".
  std::string describe_live() const;

 private:
  void make_ready(TaskState& task);
  void forget(TaskState& task);
  bool advance_clock(Instant horizon);
  TaskState& take_ready();

  Random random_;
  Instant now_;
  Trace& trace_;
  std::uint64_t steps_ = 0;
  TaskState* current_ = nullptr;
  std::vector<TaskState*> by_id_{nullptr};  // null: over
  std::vector<TaskState*> ready_;
  std::set<std::pair<Instant, TaskId>> timers_;
};

}  // namespace berth::sim
