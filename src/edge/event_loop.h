// One thread that waits for file descriptors, runs what others post to it, and keeps time. The
// owner stops it by destroying it.
//
// `post`, `stop` and `start` are for everybody; everything else is for functions that run on the
// loop, or for the owner after `stop`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/time.h"
#include "edge/socket.h"

namespace berth::edge {

// Hears of what happened to a file descriptor. It may forget its descriptors and destroy itself.
class Watcher {
 public:
  virtual void on_events(std::uint32_t events) = 0;

 protected:
  ~Watcher() = default;
};

class EventLoop {
 public:
  // What poll(2) and epoll(7) call them.
  static const std::uint32_t kReadable;
  static const std::uint32_t kWritable;
  static const std::uint32_t kFailed;
  using OnEvents = std::function<void(std::uint32_t events)>;

  static Result<std::unique_ptr<EventLoop>> start(const char* thread_name);
  ~EventLoop();

  // Runs after the events of the round; functions of one caller run in their order.
  void post(std::function<void()> work);
  // Ends the thread; what was posted before has run then. A second call does nothing.
  void stop();

  // An event goes to the watcher that is there when it is dispatched, never to a later one of the
  // same descriptor. False: the kernel refused (too many watches).
  bool watch(int fd, std::uint32_t events, Watcher& watcher);
  bool watch(int fd, std::uint32_t events, OnEvents on_events);
  void change(int fd, std::uint32_t events);
  void forget(int fd);

  // When this round began.
  Instant now() const { return now_; }
  void after(Duration span, std::function<void()> work);
  // Runs at the end of this round, after its events.
  void at_round_end(std::function<void()> work);

 private:
  struct Slot {
    Watcher* watcher = nullptr;
    std::uint32_t generation = 0;
  };
  class FunctionWatcher;

  EventLoop(Fd epoll, Fd wake, const char* thread_name);
  void run(const std::stop_token& stop);
  void dispatch(std::uint64_t key, std::uint32_t events);
  void run_all(std::vector<std::function<void()>>& work);
  void run_posted();
  void run_timers();
  int wait_ms() const;
  std::uint64_t key_of(int fd) const;
  void read_clock();

  Fd epoll_;
  Fd wake_;
  Instant now_{};
  std::vector<Slot> slots_;  // by file descriptor
  std::unordered_map<int, std::shared_ptr<FunctionWatcher>> functions_;
  std::multimap<Instant, std::function<void()>> timers_;
  std::vector<std::function<void()>> round_end_;
  Mutex mu_;
  std::vector<std::function<void()>> posted_ GUARDED_BY(mu_);
  std::jthread thread_;  // last: joined first
};

}  // namespace berth::edge
