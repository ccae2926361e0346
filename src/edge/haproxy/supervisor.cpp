#include "edge/haproxy/supervisor.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/log.h"

namespace berth::edge::haproxy {
namespace {

// Sites are taken out one after the other until the rest is carried; then nobody is left to blame.
constexpr int kMostTries = 8;

Instant now() { return Instant(std::chrono::steady_clock::now().time_since_epoch()); }

}  // namespace

struct Supervisor::Waiter {
  std::uint64_t number = 0;
  std::unique_ptr<Signal> signal;
  Mutex mu;
  std::optional<Result<Refusals>> outcome GUARDED_BY(mu);
};

Result<std::unique_ptr<Supervisor>> Supervisor::start(Options options, Read read,
                                                      OnStats on_stats) {
  Result<PrivateFolder> folder = PrivateFolder::make();
  if (!folder) return pass(folder);
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return fail(Code::exhausted, "no file for the supervisor of HAProxy");
  return std::unique_ptr<Supervisor>(new Supervisor(std::move(options), std::move(*folder),
                                                    std::move(read), std::move(on_stats),
                                                    std::move(wake)));
}

Supervisor::Supervisor(Options options, PrivateFolder folder, Read read, OnStats on_stats, Fd wake)
    : options_(std::move(options)),
      read_(std::move(read)),
      on_stats_(std::move(on_stats)),
      wake_(std::move(wake)),
      runner_(options_.program, std::move(folder)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Supervisor::~Supervisor() {
  thread_.request_stop();
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

Result<Refusals> Supervisor::apply(const Context& context) {
  const auto waiter = std::make_shared<Waiter>();
  waiter->signal = context.tasks.signal();
  {
    const MutexLock lock(mu_);
    waiter->number = ++asked_;
    waiters_.push_back(waiter);
  }
  ::eventfd_write(wake_.get(), 1);
  for (;;) {
    const bool told = context.tasks.wait(*waiter->signal, context.deadline, context.stop);
    const MutexLock lock(waiter->mu);
    if (waiter->outcome) return *waiter->outcome;
    if (!told) return fail(context.end_error());
  }
}

void Supervisor::poke() {
  {
    const MutexLock lock(mu_);
    dirty_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
}

void Supervisor::finish() {
  {
    const MutexLock lock(mu_);
    finish_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
}

Counts Supervisor::counts() const {
  const MutexLock lock(mu_);
  return counts_;
}

// The thread that starts HAProxy: HAProxy ends when it does.
void Supervisor::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) serve();
  runner_.end();
  answer(fail(Code::stopped, "stopping"), UINT64_MAX);
}

void Supervisor::serve() {
  bool asked = false;
  bool finish = false;
  {
    const MutexLock lock(mu_);
    asked = dirty_ || !waiters_.empty();
    finish = finish_;
  }
  if (finish && !over_) {
    over_ = true;
    runner_.finish();
  }
  look_at_child();
  const bool again = (asked && !over_) || fell_ || now() >= refused_until_;
  if (over_) {
    answer(fail(Code::unavailable, "HAProxy takes nothing new"), UINT64_MAX);
  } else if (again && (runner_.runs() || now() >= may_start_)) {
    bring_about();
  }
  if (runner_.runs() && now() >= next_stats_) look_at_stats();
  show_counts();
  {
    const MutexLock lock(mu_);
    asked = dirty_ || !waiters_.empty();
  }
  wait_until(next_look(asked));
}

Instant Supervisor::next_look(bool asked) const {
  Instant next = refused_until_;
  if (runner_.runs()) next = std::min(next, next_stats_);
  if (!over_ && !runner_.runs() && (fell_ || asked)) next = std::min(next, may_start_);
  return next;
}

void Supervisor::wait_until(Instant until) const {
  int patience = -1;
  if (until != kNever) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now()).count();
    patience = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }
  const bool runs = runner_.runs();
  std::array<pollfd, 3> waits{{{wake_.get(), POLLIN, 0},
                               {runs ? runner_.child().ended().get() : -1, POLLIN, 0},
                               {runs ? runner_.child().output().get() : -1, POLLIN, 0}}};
  (void)::poll(waits.data(), waits.size(), patience);
  eventfd_t seen = 0;
  (void)::eventfd_read(wake_.get(), &seen);
}

void Supervisor::look_at_child() {
  if (!runner_.runs() || runner_.look()) return;
  if (over_) return;
  fell_ = true;
  if (now() - started_ > kGoodRun) pause_ = kFirstPause;
  may_start_ = now() + pause_;
  log_warn(
      "HAProxy ended by itself and is started again",
      {{"pause_ms",
        fmt::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(pause_).count())}});
  pause_ = std::min(pause_ * 2, kLongestPause);
}

void Supervisor::bring_about() {
  std::uint64_t up_to = 0;
  {
    const MutexLock lock(mu_);
    up_to = asked_;
    dirty_ = false;
  }
  if (now() >= refused_until_) refused_.clear();
  refused_until_ = refused_.empty() ? kNever : refused_until_;
  // Workers count anew: what this one has counted is noted first.
  if (runner_.runs()) look_at_stats();
  const Result<> outcome = carry(*read_());
  fell_ = !outcome;
  if (!outcome && !runner_.runs()) {
    may_start_ = now() + pause_;
    pause_ = std::min(pause_ * 2, kLongestPause);
  }
  answer(outcome, up_to);
}

// All of it, or as much as HAProxy takes.
Result<> Supervisor::carry(const State& state) {
  Error last;
  for (int tries = 0; tries < kMostTries; ++tries) {
    const State rest = without(state, refused_);
    if (rest.sites.empty()) {
      runner_.end();
      return {};
    }
    const bool ran = runner_.runs();
    const Result<> done = runner_.carry(config_of(rest, runner_.folder()), rest.files);
    if (done) {
      if (!ran) started_ = now();
      return {};
    }
    last = done.error();
    log_warn("HAProxy refuses what it is to carry", {{"error", last.to_string()}});
    if (runner_.guilty().empty()) break;
    for (const std::string& site : runner_.guilty()) refused_.emplace(site, last);
    refused_until_ = now() + kRefusedFor;
  }
  last.code = Code::unavailable;
  return fail(std::move(last));
}

void Supervisor::look_at_stats() {
  next_stats_ = now() + options_.look;
  if (const Result<std::vector<Stat>> stats = runner_.stats()) on_stats_(runner_.worker(), *stats);
}

void Supervisor::answer(const Result<>& outcome, std::uint64_t up_to) {
  show_counts();
  std::vector<std::shared_ptr<Waiter>> done;
  {
    const MutexLock lock(mu_);
    std::erase_if(waiters_, [&](const std::shared_ptr<Waiter>& one) {
      if (one->number > up_to) return false;
      done.push_back(one);
      return true;
    });
  }
  for (const std::shared_ptr<Waiter>& one : done) {
    {
      const MutexLock lock(one->mu);
      one->outcome = outcome ? Result<Refusals>(refused_) : Result<Refusals>(fail(outcome.error()));
    }
    one->signal->notify();
  }
}

void Supervisor::show_counts() {
  const MutexLock lock(mu_);
  counts_ = {.starts = runner_.starts(), .reloads = runner_.reloads(), .worker = runner_.worker()};
}

}  // namespace berth::edge::haproxy
