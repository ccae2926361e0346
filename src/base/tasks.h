// Tasks is the only way to start work, to wait and to read the time.
//
// Production implements it with threads (`base/threads.h`), simulation with fibers under a seeded
// scheduler and a virtual clock (`sim/kernel`). Code above this seam is plain blocking code and
// runs unchanged on both. Any task may call any member.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/time.h"

namespace berth {

// A sticky wake-up: a notify before the wait is kept, several are one. One task waits, any may
// notify.
class Signal {
 public:
  virtual ~Signal() = default;
  virtual void notify() = 0;
};

// A running task. Its owner joins it: the destructor requests the stop and waits for the end.
class Task {
 public:
  virtual ~Task() = default;
  virtual void request_stop() = 0;
  virtual void join() = 0;
};

class Tasks {
 public:
  virtual ~Tasks() = default;

  virtual Instant now() = 0;
  virtual WallTime wall_time() = 0;

  virtual std::unique_ptr<Signal> signal() = 0;
  // True: notified. False: the deadline passed or a stop was requested.
  virtual bool wait(Signal& signal, Instant until, std::stop_token stop) = 0;

  // The function must return soon after its token is stopped. The name shows in debuggers and
  // traces.
  [[nodiscard]] virtual std::unique_ptr<Task> spawn(std::string name,
                                                    std::function<void(std::stop_token)> body) = 0;
};

// Waits for the span to pass. False: a stop was requested first.
bool sleep_for(Tasks& tasks, Duration span, std::stop_token stop);

}  // namespace berth
