#include "sim/kernel/fiber.h"

#include <cxxabi.h>

#include <boost/context/detail/fcontext.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstring>
#include <utility>
#include <vector>

#if defined(BERTH_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if defined(BERTH_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace berth::sim {
namespace {

// Sanitizers make frames several times as large. Pages that are never touched cost nothing.
#if defined(BERTH_ASAN) || defined(BERTH_TSAN)
constexpr std::size_t kStackSize = 1024 * 1024;
#else
constexpr std::size_t kStackSize = 256 * 1024;
#endif

// Stacks kept for the next fibers of this thread: more than the tasks of one simulated world.
constexpr std::size_t kMaxPooledStacks = 512;

using boost::context::stack_context;

// For functions that a fiber never returns from: ASan would keep their frames for ever.
#if defined(BERTH_ASAN)
#define BERTH_UNTRACKED __attribute__((no_sanitize("address")))
#else
#define BERTH_UNTRACKED
#endif

}  // namespace

// Mapping a stack and touching its first page costs more than a short simulation, so sweeps use
// them again.
class Fiber::StackPool {
 public:
  ~StackPool() {
    for (const Stack& stack : free_) unmap(stack);
  }

  Stack take() {
    if (free_.empty()) {
      const stack_context fresh = memory_.allocate();
      return {.top = fresh.sp, .size = fresh.size};
    }
    const Stack stack = free_.back();
    free_.pop_back();
    return stack;
  }

  bool has_room() const { return free_.size() < kMaxPooledStacks; }

  void give_back(Stack stack) {
#if defined(BERTH_ASAN)
    // The last frames were left without returning from them, so their red zones are still set.
    __asan_unpoison_memory_region(stack.bottom(), stack.size);
#endif
    if (has_room()) {
      free_.push_back(stack);
    } else {
      unmap(stack);
    }
  }

  static StackPool& of_this_thread() {
    static thread_local StackPool pool;
    return pool;
  }

 private:
  void unmap(const Stack& stack) {
    stack_context memory;
    memory.sp = stack.top;
    memory.size = stack.size;
    memory_.deallocate(memory);
  }

  boost::context::protected_fixedsize_stack memory_{kStackSize};
  std::vector<Stack> free_;
};

// The first function on a fiber's stack. It never returns: there is nothing to return to.
struct Fiber::Boot {
  BERTH_UNTRACKED static void enter(boost::context::detail::transfer_t from) {
    Fiber& self = *static_cast<Fiber*>(from.data);
    self.resumer_ = from.fctx;
    self.after_switch_in();
    self.entry_(self.argument_);
    self.finished_ = true;
    self.suspend();
    std::unreachable();
  }
};

Fiber::~Fiber() {
#if defined(BERTH_ASAN)
  // Not a leak to report: a task was given up on purpose, and the run has failed already.
  if (stack_.top) __lsan_register_root_region(stack_.bottom(), stack_.size);
#endif
}

void Fiber::start() {
  stack_ = StackPool::of_this_thread().take();
  context_ = boost::context::detail::make_fcontext(stack_.top, stack_.size, &Boot::enter);
#if defined(BERTH_TSAN)
  stack_.shadow = __tsan_create_fiber(0);
#endif
}

void Fiber::resume() {
  if (!context_) start();
  swap_exception_state();
  before_switch_in();
  context_ = boost::context::detail::jump_fcontext(context_, this).fctx;
  after_switch_out();
  swap_exception_state();
  if (finished_) StackPool::of_this_thread().give_back(std::exchange(stack_, {}));
}

BERTH_UNTRACKED void Fiber::suspend() {
  before_switch_out();
  resumer_ = boost::context::detail::jump_fcontext(resumer_, nullptr).fctx;
  after_switch_in();
}

void Fiber::swap_exception_state() {
  // The ABI fixes the first two members: the caught exceptions, and the count of uncaught ones.
  void* const globals = abi::__cxa_get_globals();
  ExceptionState current;
  std::memcpy(&current, globals, sizeof current);
  std::memcpy(globals, &exceptions_, sizeof exceptions_);
  exceptions_ = current;
}

#if defined(BERTH_ASAN)

void Fiber::before_switch_in() {
  __sanitizer_start_switch_fiber(&resumer_shadow_, stack_.bottom(), stack_.size);
}
void Fiber::after_switch_in() {
  __sanitizer_finish_switch_fiber(stack_.shadow, &resumer_bottom_, &resumer_size_);
}
void Fiber::before_switch_out() {
  // Without a place to save to, ASan drops its notes. Making them anew for each fiber costs much
  // more than the fiber, so they stay with a stack that will be used again.
  const bool last = finished_ && !StackPool::of_this_thread().has_room();
  __sanitizer_start_switch_fiber(last ? nullptr : &stack_.shadow, resumer_bottom_, resumer_size_);
}
void Fiber::after_switch_out() {
  __sanitizer_finish_switch_fiber(resumer_shadow_, nullptr, nullptr);
}

#elif defined(BERTH_TSAN)

void Fiber::before_switch_in() {
  resumer_shadow_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(stack_.shadow, 0);
}
void Fiber::after_switch_in() {}
void Fiber::before_switch_out() { __tsan_switch_to_fiber(resumer_shadow_, 0); }
void Fiber::after_switch_out() {
  if (finished_) __tsan_destroy_fiber(stack_.shadow);
}

#else

void Fiber::before_switch_in() {}
void Fiber::after_switch_in() {}
void Fiber::before_switch_out() {}
void Fiber::after_switch_out() {}

#endif

}  // namespace berth::sim
