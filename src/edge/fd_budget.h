// How many file descriptors something may have open at one time. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>

namespace berth::edge {

class FdBudget {
 public:
  explicit FdBudget(std::size_t most) : most_(most) {}

  // All of them or none. One that is refused was never counted, or others would be refused too.
  bool take(std::size_t count = 1) {
    std::size_t used = used_.load(std::memory_order_relaxed);
    do {
      if (used + count > most_) return false;
    } while (!used_.compare_exchange_weak(used, used + count, std::memory_order_relaxed));
    return true;
  }
  void give_back(std::size_t count = 1) { used_.fetch_sub(count, std::memory_order_relaxed); }
  std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  std::size_t most() const { return most_; }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> used_{0};
};

// Three quarters of what the process may open (RLIMIT_NOFILE): the rest of the process, API
// connections and files, has what is left.
std::size_t default_fd_budget();
// UDP sessions at one time. Anybody can begin them with a forged address, so they may have three
// quarters of the budget, and TCP has what is left; and three quarters of the ports that the kernel
// hands out, since every session needs one, and so does everything else on the machine that asks a
// name server.
std::size_t default_udp_sessions(std::size_t fd_budget);

}  // namespace berth::edge
