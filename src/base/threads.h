// Tasks on operating system threads and the real clocks: what production uses. Thread-safe.
#pragma once

#include "base/tasks.h"

namespace berth {

class ThreadTasks final : public Tasks {
 public:
  Instant now() override;
  WallTime wall_time() override;
  std::unique_ptr<Signal> signal() override;
  bool wait(Signal& signal, Instant until, std::stop_token stop) override;
  [[nodiscard]] std::unique_ptr<Task> spawn(std::string name,
                                            std::function<void(std::stop_token)> body) override;
};

}  // namespace berth
