// What happens on the way of a seam call: delay, death, and the write at which a process dies.

#include <algorithm>
#include <utility>

#include "sim/kernel/kernel.h"
#include "sim/kernel/scheduler.h"

namespace berth::sim {

Duration Kernel::latency() {
  const auto range = static_cast<std::uint64_t>(
      std::max(Duration::zero(), options_.max_latency - options_.min_latency).count());
  return options_.min_latency +
         Duration{static_cast<Duration::rep>(latency_random_.below(range + 1))};
}

bool Kernel::travel(Process& process, std::string_view label, bool carries_write) {
  if (!may_switch("seam call", label)) return false;
  TaskState* const task = scheduler_->current();
  if (!task) {
    bool arrived = false;
    run_as_task(process, fmt::format("{} from outside", label),
                [&] { arrived = travel(process, label, carries_write); });
    return arrived;
  }
  task->write_of = carries_write && process.alive() ? &process : nullptr;
  if (process.alive() && options_.max_latency > Duration::zero()) {
    scheduler_->block(now() + latency() / 2, &process, {.on = Waiting::On::peer, .name = label});
  } else {
    scheduler_->yield();
  }
  task->write_of = nullptr;
  const bool lands_late = std::exchange(task->lands_late, false);
  count_step_after_death(process);
  return process.alive() || lands_late;
}

std::optional<CrashSide> Kernel::next_write(const Process& process) {
  if (!process.crashable() || !process.alive()) return std::nullopt;
  return crash_of(options_.crash, writes_++, crashes_, crash_random_);
}

void SeamCall::note(std::string_view what) { process_.kernel().note(what, label_); }

Failure SeamCall::stopped() const {
  return fail(Code::stopped, "{}: process {} has ended", label_, process_.name());
}

bool SeamCall::arrives() {
  Kernel& kernel = process_.kernel();
  if (!kernel.travel(process_, label_, effect_ == Effect::write)) {
    note("is dead for");
    return false;
  }
  if (effect_ == Effect::write) {
    const auto side = kernel.next_write(process_);
    if (side == CrashSide::before) {
      note("dies before");
      kernel.crash(process_);
      return false;
    }
    crash_after_ = side == CrashSide::after;
  }
  kernel.in_effect_ = true;
  return true;
}

bool SeamCall::returns(std::optional<Code> error) {
  Kernel& kernel = process_.kernel();
  kernel.in_effect_ = false;
  note(error ? traits_of(*error).name : effect_ == Effect::read ? "reads" : "writes");
  if (crash_after_) {
    note("dies after");
    kernel.crash(process_);
    return false;
  }
  if (kernel.travel(process_, label_, false)) return true;
  note("gets no reply of");
  return false;
}

}  // namespace berth::sim
