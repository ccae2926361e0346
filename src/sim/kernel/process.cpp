// What a simulated process offers as Tasks: clocks, signals, waiting, tasks and joining.

#include <exception>

#include "sim/kernel/sim_task.h"

namespace berth::sim {
namespace {

// Past this, a task that is joined from outside is taken for one that never ends.
constexpr std::uint64_t kMaxJoinSteps = 5'000'000;

}  // namespace

Instant Process::now() { return kernel_.now(); }
WallTime Process::wall_time() { return kernel_.wall_time() + clock_ahead_; }

std::unique_ptr<Signal> Process::signal() {
  return std::make_unique<SimSignal>(kernel_, *this, ++kernel_.signals_);
}

bool Process::wait(Signal& signal, Instant until, std::stop_token stop) {
  return kernel_.wait(*this, static_cast<SimSignal&>(signal), until, stop);
}

std::unique_ptr<Task> Process::spawn(std::string name, std::function<void(std::stop_token)> body) {
  return kernel_.spawn(*this, name, std::move(body));
}

SimSignal::~SimSignal() {
  if (waiter_ == kNobody) return;
  // Its task would come back to freed memory.
  TaskState* const waiter = kernel_.scheduler_->find(waiter_);
  if (!waiter) return;
  kernel_.fail(fmt::format("signal {} of process {} is destroyed while {} waits for it", number_,
                           owner_.name(), waiter->name));
  kernel_.scheduler_->abandon(*waiter);
}

void SimSignal::notify() {
  notified_ = true;
  if (waiter_ != kNobody) kernel_.scheduler_->wake(waiter_);
}

SimTask::SimTask(Kernel& kernel, Process& process, std::string name,
                 std::function<void(std::stop_token)> body)
    : kernel_(kernel), state_(std::move(name), process, &SimTask::run) {
  state_.body = std::move(body);
}

SimTask::~SimTask() {
  request_stop();
  join();
}

void SimTask::join() {
  // One that is over needs its kernel no more, which may be gone.
  if (!state_.over()) kernel_.join(state_);
}

void SimTask::run(void* state) {
  auto& task = *static_cast<TaskState*>(state);
  Kernel& kernel = task.process.kernel();
  try {
    task.body(task.stop.get_token());
    task.body = nullptr;  // what it captured ends on the task, as on a thread
  } catch (const std::exception& error) {
    kernel.fail(fmt::format("task {} ended by an exception: {}", task.name, error.what()));
  } catch (...) {
    kernel.fail(fmt::format("task {} ended by an exception of unknown type", task.name));
  }
}

std::unique_ptr<Task> Kernel::spawn(Process& process, const std::string& name,
                                    std::function<void(std::stop_token)> body) {
  auto task = std::make_unique<SimTask>(*this, process, fmt::format("{}/{}", process.name(), name),
                                        std::move(body));
  if (!process.alive()) task->request_stop();
  scheduler_->start(task->state_);
  return task;
}

void Kernel::join(TaskState& task) {
  if (!may_switch("the join of task", task.name)) return scheduler_->abandon(task);
  if (scheduler_->current()) {
    if (task.joiner != kNobody) fail(fmt::format("task {} is joined twice", task.name));
    task.joiner = scheduler_->current()->id;
    while (!task.over()) {
      scheduler_->block(kNever, nullptr, {.on = Waiting::On::task_end, .name = task.name});
    }
    return;
  }
  for (std::uint64_t taken = 0; !task.over(); ++taken) {
    if (taken < kMaxJoinSteps && scheduler_->step(kNever)) continue;
    fail(fmt::format("the join of task {} does not end: {}", task.name,
                     scheduler_->describe_live()));
    scheduler_->abandon(task);
  }
}

void Kernel::run_as_task(Process& process, std::string name, const std::function<void()>& body) {
  spawn(process, name, [&body](std::stop_token) { body(); })->join();
}

bool Kernel::wait(Process& process, SimSignal& signal, Instant until, const std::stop_token& stop) {
  if (!may_switch("a wait through", process.name())) return false;
  TaskState* const task = scheduler_->current();
  if (!task) {
    bool notified = false;
    run_as_task(process, "wait from outside",
                [&] { notified = wait(process, signal, until, stop); });
    return notified;
  }
  if (!process.alive() || signal.notified_ || stop.stop_requested() || until <= now()) {
    scheduler_->yield();
  } else if (signal.waiter_ != kNobody) {
    fail(fmt::format("two tasks wait for signal {} of process {}", signal.number_,
                     signal.owner_.name()));
    scheduler_->yield();
    return false;
  } else {
    signal.waiter_ = task->id;
    task->on_stop.emplace(stop, TaskState::Wake{scheduler_.get(), task->id});
    scheduler_->block(
        until, &process,
        {.on = Waiting::On::signal, .name = signal.owner_.name(), .number = signal.number_});
    task->on_stop.reset();
    signal.waiter_ = kNobody;
  }
  count_step_after_death(process);
  return process.alive() && signal.take();
}

}  // namespace berth::sim
