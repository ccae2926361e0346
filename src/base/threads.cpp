#include "base/threads.h"

#include <pthread.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "base/log.h"

namespace berth {
namespace {

class ThreadSignal final : public Signal {
 public:
  // Under the lock to the end: the woken task may destroy the signal as soon as it can take it.
  void notify() override {
    const std::lock_guard lock(mu_);
    notified_ = true;
    changed_.notify_one();
  }

  bool wait(Instant until, const std::stop_token& stop) {
    std::unique_lock lock(mu_);
    const auto is_notified = [this] { return notified_; };
    if (until == kNever) {
      changed_.wait(lock, stop, is_notified);
    } else {
      const std::chrono::steady_clock::time_point deadline{until.time_since_epoch()};
      changed_.wait_until(lock, stop, deadline, is_notified);
    }
    return std::exchange(notified_, false);
  }

 private:
  std::mutex mu_;
  std::condition_variable_any changed_;
  bool notified_ = false;
};

// The kernel keeps 15 characters of a thread's name.
constexpr std::size_t kMaxThreadName = 15;

class ThreadTask final : public Task {
 public:
  ThreadTask(std::string name, std::function<void(std::stop_token)> body)
      : thread_([name = std::move(name), body = std::move(body)](std::stop_token stop) {
          pthread_setname_np(pthread_self(), name.substr(0, kMaxThreadName).c_str());
          run(name, body, std::move(stop));
        }) {}
  ~ThreadTask() override = default;  // jthread: requests the stop and joins

  void request_stop() override { thread_.request_stop(); }
  void join() override {
    if (thread_.joinable()) thread_.join();
  }

 private:
  // An exception that reaches the root of a thread is a defect: say which task it was, then end the
  // process.
  static void run(const std::string& name, const std::function<void(std::stop_token)>& body,
                  std::stop_token stop) {
    try {
      body(std::move(stop));
    } catch (const std::exception& error) {
      log_error("task ended by an exception", {{"task", name}, {"error", error.what()}});
      std::abort();
    }
  }

  std::jthread thread_;
};

}  // namespace

Instant ThreadTasks::now() { return Instant{std::chrono::steady_clock::now().time_since_epoch()}; }

WallTime ThreadTasks::wall_time() {
  return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
}

std::unique_ptr<Signal> ThreadTasks::signal() { return std::make_unique<ThreadSignal>(); }

bool ThreadTasks::wait(Signal& signal, Instant until, std::stop_token stop) {
  return static_cast<ThreadSignal&>(signal).wait(until, stop);
}

std::unique_ptr<Task> ThreadTasks::spawn(std::string name,
                                         std::function<void(std::stop_token)> body) {
  return std::make_unique<ThreadTask>(std::move(name), std::move(body));
}

}  // namespace berth
