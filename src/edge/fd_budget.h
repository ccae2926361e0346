// How many file descriptors something may have open at one time. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>

namespace berth::edge {

class FdBudget {
 public:
  explicit FdBudget(std::size_t most) : most_(most) {}

  // All of them or none.
  bool take(std::size_t count = 1) {
    if (used_.fetch_add(count, std::memory_order_relaxed) + count <= most_) return true;
    give_back(count);
    return false;
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

}  // namespace berth::edge
