#include "sim/kernel/scheduler.h"

#include <algorithm>

namespace berth::sim {
namespace {

// A report of a stuck world stays readable.
constexpr std::size_t kMaxListedTasks = 40;

std::string describe(const TaskState& task) {
  using On = Waiting::On;
  std::string what;
  switch (task.waiting.on) {
    case On::nothing: return fmt::format("{} is ready", task.name);
    case On::signal:
      what = fmt::format("signal {} of process {}", task.waiting.number, task.waiting.name);
      break;
    case On::peer: what = fmt::format("the peer of '{}'", task.waiting.name); break;
    case On::task_end: what = fmt::format("the end of task {}", task.waiting.name); break;
  }
  const std::string until =
      task.due == kNever ? "without a deadline"
                         : fmt::format("until {:.6f}s", to_seconds(task.due.time_since_epoch()));
  return fmt::format("{} waits for {} {}{}", task.name, what, until,
                     task.stop.stop_requested() ? ", stop requested" : "");
}

}  // namespace

void TaskState::Wake::operator()() const noexcept { scheduler->wake(id); }

void Scheduler::start(TaskState& task) {
  task.id = static_cast<TaskId>(by_id_.size());
  by_id_.push_back(&task);
  trace_.event(moment(), current_name(), "starts", task.name);
  make_ready(task);
}

void Scheduler::make_ready(TaskState& task) {
  task.phase = TaskState::Phase::ready;
  task.waiting = {};
  ready_.push_back(&task);
}

void Scheduler::wake(TaskId id) {
  TaskState* const task = find(id);
  if (!task || task->phase != TaskState::Phase::blocked) return;
  if (task->due != kNever) timers_.erase({task->due, id});
  make_ready(*task);
}

void Scheduler::forget(TaskState& task) {
  by_id_[task.id] = nullptr;
  wake(task.joiner);
}

void Scheduler::abandon(TaskState& task) {
  if (task.over()) return;
  trace_.event(moment(), current_name(), "abandons", task.name);
  std::erase(ready_, &task);
  timers_.erase({task.due, task.id});
  task.on_stop.reset();
  task.phase = TaskState::Phase::abandoned;
  forget(task);
}

void Scheduler::abandon_current() {
  TaskState& task = *current_;
  abandon(task);
  for (;;) task.fiber.suspend();
}

void Scheduler::yield() {
  TaskState& task = *current_;
  make_ready(task);
  task.fiber.suspend();
}

void Scheduler::block(Instant until, const Process* waits_in, Waiting waiting) {
  TaskState& task = *current_;
  task.phase = TaskState::Phase::blocked;
  task.waiting = waiting;
  task.waits_in = waits_in;
  task.due = until;
  if (until != kNever) timers_.emplace(until, task.id);
  task.fiber.suspend();
  task.waits_in = nullptr;
  task.due = kNever;
}

bool Scheduler::advance_clock(Instant horizon) {
  const Instant next = next_due();
  if (next == kNever || next > horizon) return false;
  now_ = std::max(now_, next);
  while (next_due() <= now_) {
    TaskState& task = *by_id_[timers_.begin()->second];
    timers_.erase(timers_.begin());
    make_ready(task);
  }
  return true;
}

TaskState& Scheduler::take_ready() {
  const std::size_t picked = ready_.size() == 1 ? 0 : random_.below(ready_.size());
  TaskState& task = *ready_[picked];
  ready_[picked] = ready_.back();
  ready_.pop_back();
  return task;
}

bool Scheduler::step(Instant horizon) {
  if (ready_.empty() && !advance_clock(horizon)) return false;
  TaskState& task = take_ready();
  ++steps_;
  trace_.fold(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
  trace_.fold(std::uint64_t{task.id});
  task.phase = TaskState::Phase::running;
  current_ = &task;
  task.fiber.resume();
  current_ = nullptr;
  if (task.fiber.finished()) {
    trace_.event(moment(), task.name, "ends", {});
    task.phase = TaskState::Phase::ended;
    forget(task);
  }
  return true;
}

std::vector<TaskState*> Scheduler::live() const {
  std::vector<TaskState*> tasks;
  std::ranges::copy_if(by_id_, std::back_inserter(tasks),
                       [](const TaskState* task) { return task != nullptr; });
  return tasks;
}

std::string Scheduler::describe_live() const {
  const auto tasks = live();
  if (tasks.empty()) return "no task is left";
  std::string out;
  for (std::size_t i = 0; i < std::min(tasks.size(), kMaxListedTasks); ++i) {
    if (i > 0) out += "; ";
    out += describe(*tasks[i]);
  }
  if (tasks.size() > kMaxListedTasks) {
    out += fmt::format("; and {} more", tasks.size() - kMaxListedTasks);
  }
  return out;
}

}  // namespace berth::sim
