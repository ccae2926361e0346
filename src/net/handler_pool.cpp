#include "net/handler_pool.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace berth::net {

HandlerPool::HandlerPool(int threads, std::size_t max_queued) : max_queued_(max_queued) {
  for (int i = 0; i < std::max(threads, 1); ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) {
      pthread_setname_np(pthread_self(), "http-handler");
      run(stop);
    });
  }
}

HandlerPool::~HandlerPool() {
  for (auto& thread : threads_) thread.request_stop();
  threads_.clear();
}

bool HandlerPool::submit(std::function<void()> job) {
  {
    const std::lock_guard lock(mu_);
    if (queue_.size() >= max_queued_) return false;
    queue_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void HandlerPool::run(const std::stop_token& stop) {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock lock(mu_);
      changed_.wait(lock, stop, [this] { return !queue_.empty(); });
      if (stop.stop_requested()) return;
      job = std::move(queue_.front());
      queue_.pop_front();
    }
    job();
  }
}

}  // namespace berth::net
