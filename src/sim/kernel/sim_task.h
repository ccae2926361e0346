// The signals and task handles that a simulated process gives out. Inside the folder only.
#pragma once

#include <utility>

#include "sim/kernel/kernel.h"
#include "sim/kernel/scheduler.h"

namespace berth::sim {

class SimSignal final : public Signal {
 public:
  SimSignal(Kernel& kernel, const Process& owner, std::uint64_t number)
      : kernel_(kernel), owner_(owner), number_(number) {}
  ~SimSignal() override;

  void notify() override;

 private:
  friend class Kernel;
  bool take() { return std::exchange(notified_, false); }

  Kernel& kernel_;
  const Process& owner_;
  std::uint64_t number_;
  TaskId waiter_ = kNobody;
  bool notified_ = false;
};

class SimTask final : public Task {
 public:
  SimTask(Kernel& kernel, Process& process, std::string name,
          std::function<void(std::stop_token)> body);
  ~SimTask() override;

  void request_stop() override { state_.stop.request_stop(); }
  void join() override;
  bool over() const { return state_.over(); }

 private:
  friend class Kernel;
  static void run(void* state);

  Kernel& kernel_;
  TaskState state_;
};

}  // namespace berth::sim
