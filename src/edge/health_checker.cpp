#include "edge/health_checker.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <unordered_map>

#include "edge/event_loop.h"

namespace berth::edge {
namespace {

struct Rules {
  model::Transport protocol = model::Transport::tcp;
  model::Port port = 0;
  Duration interval{};
  Duration timeout{};
  std::uint32_t healthy_count = 0;
  std::uint32_t unhealthy_count = 0;
};

Rules rules_of(model::Transport protocol, const model::HealthCheck& check, Duration second) {
  const auto or_default = [](std::uint32_t value, std::uint32_t otherwise) {
    return value == 0 ? otherwise : value;
  };
  return {.protocol = protocol,
          .port = check.port,
          .interval = or_default(check.interval_seconds, kHealthIntervalSeconds) * second,
          .timeout = or_default(check.timeout_seconds, kHealthTimeoutSeconds) * second,
          .healthy_count = or_default(check.healthy_count, kHealthyCount),
          .unhealthy_count = or_default(check.unhealthy_count, kUnhealthyCount)};
}

// The questions to one target.
class Probe final : public Watcher {
 public:
  using OnChange = std::function<void()>;
  Probe(EventLoop& loop, FdBudget& budget, BackendPtr backend)
      : loop_(loop), budget_(budget), backend_(std::move(backend)) {}
  ~Probe() { hang_up(); }

  void set_rules(const Rules& rules, std::shared_ptr<const OnChange> on_change) {
    rules_ = rules;
    on_change_ = std::move(on_change);
  }
  bool asking() const { return fd_.valid(); }
  const Backend& backend() const { return *backend_; }

  void on_time() {
    if (asking() && loop_.now() >= deadline_)
      // Silence is what a TCP target must not give, and what a UDP target may.
      return learn(rules_.protocol == model::Transport::udp);
  }
  bool is_due() const { return !asking() && loop_.now() >= due_; }
  Instant due() const { return due_; }

  void ask() {
    if (!budget_.take()) return;  // at the next tick
    due_ = loop_.now() + rules_.interval;
    deadline_ = loop_.now() + rules_.timeout;
    const SocketAddress to =
        rules_.port == 0 ? backend_->address : backend_->address.with_port(rules_.port);
    const bool tcp = rules_.protocol == model::Transport::tcp;
    Result<Fd> fd = tcp ? connect_tcp(to) : connect_udp(to);
    if (!fd) {
      budget_.give_back();
      // That we have no file descriptor left says nothing of the target.
      if (fd.error().code != Code::exhausted) learn(false);
      return;
    }
    fd_ = std::move(*fd);
    if (!tcp && ::send(fd_.get(), "", 0, MSG_NOSIGNAL) < 0) return learn(false);
    if (!loop_.watch(fd_.get(), tcp ? EventLoop::kWritable : EventLoop::kReadable, *this))
      hang_up();
  }

  void on_events(std::uint32_t) override { learn(pending_error(fd_) == 0); }

 private:
  void hang_up() {
    if (!asking()) return;
    loop_.forget(fd_.get());
    fd_.close();
    budget_.give_back();
  }

  void learn(bool answered) {
    hang_up();
    in_a_row_ = answered == last_answered_ ? in_a_row_ + 1 : 1;
    last_answered_ = answered;
    const bool enough = in_a_row_ >= (answered ? rules_.healthy_count : rules_.unhealthy_count);
    // The first answer confirms what a new target is taken for.
    const bool first = !backend_->judged && (answered || enough);
    if (!enough && !first) return;
    const bool before =
        enough ? backend_->healthy.exchange(answered, std::memory_order_relaxed) : answered;
    backend_->judged = true;
    if ((first || before != answered) && *on_change_) (*on_change_)();
  }

  EventLoop& loop_;
  FdBudget& budget_;
  const BackendPtr backend_;
  Rules rules_{};
  std::shared_ptr<const OnChange> on_change_;
  Fd fd_;
  Instant due_{};  // at once
  Instant deadline_{};
  bool last_answered_ = true;
  std::uint32_t in_a_row_ = 0;
};

}  // namespace

// All but the constructor runs on the loop.
class HealthChecker::Impl {
 public:
  Impl(std::unique_ptr<EventLoop> its_loop, FdBudget& budget, Duration second,
       std::size_t max_probes)
      : budget_(budget), second_(second), max_probes_(max_probes), loop(std::move(its_loop)) {}
  ~Impl() { loop->stop(); }

  void set(const ListenerPtr& listener, const Boxed<model::HealthCheck>& check,
           const std::shared_ptr<const Probe::OnChange>& on_change) {
    if (!check || !check->enabled) return forget(*listener);
    if (probes_.empty()) schedule();
    auto& known = probes_[listener.get()];
    std::vector<std::unique_ptr<Probe>> next;
    for (const BackendPtr& backend : listener->backends()) {
      const auto old = std::ranges::find_if(
          known, [&](const auto& probe) { return probe && &probe->backend() == backend.get(); });
      next.push_back(old != known.end() ? std::move(*old)
                                        : std::make_unique<Probe>(*loop, budget_, backend));
      next.back()->set_rules(rules_of(listener->protocol(), *check, second_), on_change);
    }
    known = std::move(next);
    if (known.empty()) probes_.erase(listener.get());
  }

  void forget(const Listener& listener) {
    probes_.erase(&listener);
    for (const BackendPtr& backend : listener.backends()) {
      backend->healthy.store(true, std::memory_order_relaxed);
      backend->judged = false;
    }
  }

 private:
  void schedule() {
    if (scheduled_) return;
    scheduled_ = true;
    loop->after(second_ / kTicksPerSecond, [this] { tick(); });
  }

  void tick() {
    scheduled_ = false;
    std::size_t asking = 0;
    std::vector<Probe*> due;
    for (const auto& [listener, probes] : probes_) {
      for (const auto& probe : probes) {
        probe->on_time();
        asking += probe->asking() ? 1 : 0;
        if (probe->is_due()) due.push_back(probe.get());
      }
    }
    ask_some(due, max_probes_ - std::min(max_probes_, asking));
    if (!probes_.empty()) schedule();
  }

  // Who waits for longest comes first; in any other order those that take long would come again
  // before others were asked at all.
  static void ask_some(std::vector<Probe*>& due, std::size_t most) {
    const std::size_t count = std::min(due.size(), most);
    const auto end = due.begin() + static_cast<std::ptrdiff_t>(count);
    if (count < due.size()) std::ranges::nth_element(due, end, {}, &Probe::due);
    for (Probe* const probe : std::span(due).first(count)) probe->ask();
  }

  static constexpr int kTicksPerSecond = 10;
  FdBudget& budget_;
  const Duration second_;
  const std::size_t max_probes_;
  bool scheduled_ = false;

 public:
  std::unique_ptr<EventLoop> loop;

 private:
  // Goes before the loop that it uses.
  std::unordered_map<const Listener*, std::vector<std::unique_ptr<Probe>>> probes_;
};

HealthChecker::HealthChecker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HealthChecker::~HealthChecker() = default;

Result<std::unique_ptr<HealthChecker>> HealthChecker::start(FdBudget& budget, Duration second,
                                                            std::size_t max_probes) {
  Result<std::unique_ptr<EventLoop>> loop = EventLoop::start("edge-health");
  if (!loop) return pass(loop);
  return std::unique_ptr<HealthChecker>(
      new HealthChecker(std::make_unique<Impl>(std::move(*loop), budget, second, max_probes)));
}

void HealthChecker::set(const ListenerPtr& listener, const Boxed<model::HealthCheck>& check,
                        std::function<void()> on_change) {
  auto shared = std::make_shared<const Probe::OnChange>(std::move(on_change));
  impl_->loop->post([impl = impl_.get(), listener, check, shared = std::move(shared)] {
    impl->set(listener, check, shared);
  });
}

void HealthChecker::forget(const ListenerPtr& listener) {
  impl_->loop->post([impl = impl_.get(), listener] { impl->forget(*listener); });
}

}  // namespace berth::edge
