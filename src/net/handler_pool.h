// Threads that run request handlers, and the bounded queue in front of them. Private to net.
//
// Apart from the I/O threads, so that a handler that blocks stops neither accepting nor sending.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace berth::net {

class HandlerPool {
 public:
  HandlerPool(int threads, std::size_t max_queued);
  // Jobs that run are waited for; jobs that wait are dropped.
  ~HandlerPool();

  // False: the queue is full, the job was not taken. Any thread.
  bool submit(std::function<void()> job);

 private:
  void run(const std::stop_token& stop);

  const std::size_t max_queued_;
  std::mutex mu_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::jthread> threads_;
};

}  // namespace berth::net
