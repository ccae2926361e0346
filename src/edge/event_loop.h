// One thread that waits for file descriptors and runs what others post to it. The owner stops it by
// destroying it.
//
// `watch`, `change` and `forget` are for functions that run on the loop; `post` is for everybody.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "edge/socket.h"

namespace berth::edge {

class EventLoop {
 public:
  // What poll(2) and epoll(7) call them.
  static const std::uint32_t kReadable;
  static const std::uint32_t kWritable;
  static const std::uint32_t kFailed;
  using OnEvents = std::function<void(std::uint32_t events)>;

  static Result<std::unique_ptr<EventLoop>> start(const char* thread_name);
  ~EventLoop();

  void post(std::function<void()> work);

  // False: the kernel refused (too many watches).
  bool watch(int fd, std::uint32_t events, OnEvents on_events);
  void change(int fd, std::uint32_t events);
  void forget(int fd);

 private:
  EventLoop(Fd epoll, Fd wake, const char* thread_name);
  void run(const std::stop_token& stop);
  void run_posted();
  void dispatch(int fd, std::uint32_t events);

  Fd epoll_;
  Fd wake_;
  std::unordered_map<int, std::shared_ptr<OnEvents>> watches_;  // loop thread only
  Mutex mu_;
  std::vector<std::function<void()>> posted_ GUARDED_BY(mu_);
  std::jthread thread_;  // last: joined first
};

}  // namespace berth::edge
