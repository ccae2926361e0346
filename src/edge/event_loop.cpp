#include "edge/event_loop.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

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

Result<std::unique_ptr<EventLoop>> EventLoop::start(const char* thread_name) {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  Fd wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!epoll.valid() || !wake.valid())
    return fail(Code::exhausted, "no event loop: {}", std::strerror(errno));
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake.get()}};
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0) {
    return fail(Code::exhausted, "no event loop: {}", std::strerror(errno));
  }
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll), std::move(wake), thread_name));
}

EventLoop::EventLoop(Fd epoll, Fd wake, const char* thread_name)
    : epoll_(std::move(epoll)),
      wake_(std::move(wake)),
      thread_([this, thread_name](const std::stop_token& stop) {
        pthread_setname_np(pthread_self(), thread_name);
        run(stop);
      }) {}

EventLoop::~EventLoop() {
  thread_.request_stop();
  post([] {});  // wakes it
  thread_.join();
}

void EventLoop::post(std::function<void()> work) {
  {
    const MutexLock lock(mu_);
    posted_.push_back(std::move(work));
  }
  const std::uint64_t one = 1;
  // Full means that it is awake already.
  [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);
}

bool EventLoop::watch(int fd, std::uint32_t events, OnEvents on_events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return false;
  watches_[fd] = std::make_shared<OnEvents>(std::move(on_events));
  return true;
}

void EventLoop::change(int fd, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::forget(int fd) {
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  watches_.erase(fd);
}

void EventLoop::run(const std::stop_token& stop) {
  std::array<epoll_event, kEventsPerRound> events;
  while (!stop.stop_requested()) {
    const int n = ::epoll_wait(epoll_.get(), events.data(), kEventsPerRound, -1);
    for (int i = 0; i < n; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.fd == wake_.get()) {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &count, sizeof count);
      } else {
        dispatch(event.data.fd, event.events);
      }
    }
    // After the events: a descriptor that is closed by posted work cannot be named by an event of
    // this round.
    run_posted();
  }
  run_posted();
}

void EventLoop::run_posted() {
  std::vector<std::function<void()>> work;
  {
    const MutexLock lock(mu_);
    work.swap(posted_);
  }
  for (const auto& function : work) function();
}

void EventLoop::dispatch(int fd, std::uint32_t events) {
  const auto it = watches_.find(fd);
  if (it == watches_.end()) return;
  const auto on_events = it->second;  // kept alive: it may forget itself
  (*on_events)(events);
}

}  // namespace berth::edge
