#include "edge/event_loop.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace berth::edge {
namespace {

constexpr int kEventsPerRound = 256;

}  // namespace

const std::uint32_t EventLoop::kReadable = EPOLLIN | EPOLLRDHUP;
const std::uint32_t EventLoop::kWritable = EPOLLOUT;
const std::uint32_t EventLoop::kFailed = EPOLLERR | EPOLLHUP;

class EventLoop::FunctionWatcher final : public Watcher,
                                         public std::enable_shared_from_this<FunctionWatcher> {
 public:
  explicit FunctionWatcher(OnEvents on_events) : on_events_(std::move(on_events)) {}
  void on_events(std::uint32_t events) override {
    const auto alive = shared_from_this();  // it may forget itself
    on_events_(events);
  }

 private:
  const OnEvents on_events_;
};

Result<std::unique_ptr<EventLoop>> EventLoop::start(const char* thread_name) {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  Fd wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!epoll.valid() || !wake.valid())
    return fail(Code::exhausted, "no event loop: {}", std::strerror(errno));
  epoll_event event{.events = EPOLLIN, .data = {.u64 = static_cast<std::uint64_t>(wake.get())}};
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0)
    return fail(Code::exhausted, "no event loop: {}", std::strerror(errno));
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll), std::move(wake), thread_name));
}

EventLoop::EventLoop(Fd epoll, Fd wake, const char* thread_name)
    : epoll_(std::move(epoll)),
      wake_(std::move(wake)),
      thread_([this, thread_name](const std::stop_token& stop) {
        pthread_setname_np(pthread_self(), thread_name);
        // A write to a connection that is gone is an error like others, also through splice(2).
        sigset_t pipe{};
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
        run(stop);
      }) {}

EventLoop::~EventLoop() { stop(); }

void EventLoop::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  post([] {});  // wakes it
  thread_.join();
}

void EventLoop::post(std::function<void()> work) {
  {
    const MutexLock lock(mu_);
    posted_.push_back(std::move(work));
    if (posted_.size() > 1) return;  // whoever posted the first woke it
  }
  const std::uint64_t one = 1;
  // Full means that it is awake already.
  [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);
}

// Tells events of this watch from those of an earlier one of the same number.
std::uint64_t EventLoop::key_of(int fd) const {
  const auto index = static_cast<std::size_t>(fd);
  return std::uint64_t{slots_[index].generation} << 32 | static_cast<std::uint64_t>(fd);
}

bool EventLoop::watch(int fd, std::uint32_t events, Watcher& watcher) {
  const auto index = static_cast<std::size_t>(fd);
  if (slots_.size() <= index) slots_.resize(std::max(index + 1, slots_.size() * 2));
  slots_[index] = {&watcher, slots_[index].generation + 1};
  epoll_event event{.events = events, .data = {.u64 = key_of(fd)}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return true;
  slots_[index].watcher = nullptr;
  return false;
}

bool EventLoop::watch(int fd, std::uint32_t events, OnEvents on_events) {
  const auto watcher = std::make_shared<FunctionWatcher>(std::move(on_events));
  if (!watch(fd, events, *watcher)) return false;
  functions_[fd] = watcher;
  return true;
}

void EventLoop::change(int fd, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.u64 = key_of(fd)}};
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::forget(int fd) {
  const auto index = static_cast<std::size_t>(fd);
  if (index >= slots_.size() || slots_[index].watcher == nullptr) return;
  slots_[index].watcher = nullptr;
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  if (!functions_.empty()) functions_.erase(fd);
}

void EventLoop::after(Duration span, std::function<void()> work) {
  timers_.emplace(saturating_add(now_, span), std::move(work));
}

void EventLoop::at_round_end(std::function<void()> work) { round_end_.push_back(std::move(work)); }

void EventLoop::read_clock() {
  now_ = Instant(std::chrono::steady_clock::now().time_since_epoch());
}

int EventLoop::wait_ms() const {
  if (timers_.empty()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first - now_).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void EventLoop::run(const std::stop_token& stop) {
  std::array<epoll_event, kEventsPerRound> events;
  read_clock();
  while (!stop.stop_requested()) {
    const int n = ::epoll_wait(epoll_.get(), events.data(), kEventsPerRound, wait_ms());
    read_clock();
    for (int i = 0; i < n; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.u64 == static_cast<std::uint64_t>(wake_.get())) {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof count);
      } else {
        dispatch(event.data.u64, event.events);
      }
    }
    run_posted();
    run_timers();
    run_all(round_end_);
  }
  run_posted();
}

void EventLoop::run_all(std::vector<std::function<void()>>& work) {
  while (!work.empty()) {
    std::vector<std::function<void()>> now;
    now.swap(work);
    for (const auto& function : now) function();
  }
}

void EventLoop::run_posted() {
  std::vector<std::function<void()>> work;
  {
    const MutexLock lock(mu_);
    work.swap(posted_);
  }
  for (const auto& function : work) function();
}

void EventLoop::run_timers() {
  while (!timers_.empty() && timers_.begin()->first <= now_) {
    const auto work = std::move(timers_.extract(timers_.begin()).mapped());
    work();
  }
}

void EventLoop::dispatch(std::uint64_t key, std::uint32_t events) {
  const Slot& slot = slots_[key & 0xffffffffu];
  if (slot.watcher == nullptr || slot.generation != key >> 32) return;
  slot.watcher->on_events(events);
}

}  // namespace berth::edge
