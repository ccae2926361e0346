// A function on a stack of its own, which can stop in the middle and go on later.
//
// Owned by a task of the kernel. All fibers of a kernel run on the one OS thread that made them.
// Inside the folder only: everybody else starts work through `Tasks`.
#pragma once

#include <cstddef>

namespace berth::sim {

class Fiber {
 public:
  using Entry = void (*)(void* argument);

  // Runs `entry(argument)` from the first resume on. The entry lets no exception out.
  Fiber(Entry entry, void* argument) : entry_(entry), argument_(argument) {}
  // A fiber that was started and never finished loses its stack for good: what lies there may
  // still be pointed at.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Called outside the fiber: runs it until it suspends or finishes.
  void resume();
  // Called on the fiber: returns to whoever resumed it.
  void suspend();
  bool finished() const { return finished_; }

 private:
  // The C++ runtime keeps the exceptions in flight per thread; a fiber that switches inside a
  // handler must find its own again.
  struct ExceptionState {
    void* caught = nullptr;
    std::size_t uncaught = 0;
  };
  struct Stack {
    void* bottom() const { return static_cast<char*>(top) - size; }
    void* top = nullptr;
    std::size_t size = 0;
    void* shadow = nullptr;  // the sanitizer's notes about it
  };
  class StackPool;
  struct Boot;

  void swap_exception_state();
  void start();
  void before_switch_in();
  void after_switch_in();
  void before_switch_out();
  void after_switch_out();

  Entry entry_;
  void* argument_;
  Stack stack_{};
  void* context_ = nullptr;  // of the fiber, while it is suspended
  void* resumer_ = nullptr;  // of who resumed it, while it runs
  bool finished_ = false;
  ExceptionState exceptions_{};

  // What the sanitizers want to know about the other stack; unused otherwise.
  void* resumer_shadow_ = nullptr;
  const void* resumer_bottom_ = nullptr;
  std::size_t resumer_size_ = 0;
};

}  // namespace berth::sim
