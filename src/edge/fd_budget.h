// How many file descriptors the edge may have open at one time. Listening sockets have a part of
// them that nothing else is given: however many connections are idle, a new listener finds its
// files. Past that part they take what nobody uses. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace berth::edge {

class FdBudget {
 public:
  explicit FdBudget(std::size_t most, std::size_t for_listening = 0)
      : most_(most), for_listening_(for_listening) {}

  // All of them or none. One that is refused was never counted, or others would be refused too.
  bool take(std::size_t count = 1) { return add({.others = count}); }
  void give_back(std::size_t count = 1) { used_.fetch_sub(count, std::memory_order_relaxed); }
  bool take_listening(std::size_t count = 1) { return add({.listening = count}); }
  void give_back_listening(std::size_t count = 1) {
    used_.fetch_sub(std::uint64_t{count} << kShift, std::memory_order_relaxed);
  }

  std::size_t used() const {
    const Use use = now();
    return use.listening + use.others;
  }
  std::size_t listening() const { return now().listening; }
  std::size_t most() const { return most_; }
  std::size_t for_listening() const { return for_listening_; }

 private:
  // Both in one word, so that they are judged together.
  static constexpr int kShift = 32;
  struct Use {
    std::size_t listening = 0;
    std::size_t others = 0;
  };
  static Use unpacked(std::uint64_t word) { return {word >> kShift, word & 0xffffffffu}; }
  Use now() const { return unpacked(used_.load(std::memory_order_relaxed)); }
  bool add(const Use& more);

  const std::size_t most_;
  const std::size_t for_listening_;
  std::atomic<std::uint64_t> used_{0};
};

// Three quarters of what the process may open (RLIMIT_NOFILE): the rest of the process, API
// connections and files, has what is left.
std::size_t default_fd_budget();
// A quarter of the budget: under a limit of half a million files, as a node has it, every port of
// one address.
std::size_t default_listening_files(std::size_t fd_budget);
// UDP sessions at one time, of the files that are not kept for listening. Anybody can begin them
// with a forged address, so they may have three quarters, and TCP has what is left; and three
// quarters of the ports that the kernel hands out, since every session needs one, and so does
// everything else on the machine that asks a name server.
std::size_t default_udp_sessions(std::size_t files);

}  // namespace berth::edge
