#include "edge/data_plane.h"

#include <algorithm>

#include "edge/tcp_proxy.h"
#include "edge/udp_proxy.h"

namespace berth::edge {

// One thread and what lives on it.
class DataPlane::Worker {
 public:
  struct Options {
    std::size_t index = 0;
    Duration udp_idle{};
    Duration connect_patience{};
    std::function<void(Worker& from, Accepted)> place{};
    std::function<void(Worker& from, const Crowded&)> shed_session{};
  };
  struct Bounds {
    FdBudget& budget;
    SessionQuota& quota;
    Seats& tcp;
    Seats& udp;
  };
  Worker(std::unique_ptr<EventLoop> loop, const Bounds& bounds, Options options)
      : options_(std::move(options)),
        loop_(std::move(loop)),
        tcp_(*loop_, bounds.budget, bounds.tcp,
             {.worker = options_.index,
              .connect_patience = options_.connect_patience,
              .place = [this](Accepted accepted) { options_.place(*this, std::move(accepted)); },
              .on_end = [this] { load_.fetch_sub(1, std::memory_order_relaxed); }}),
        udp_(*loop_, bounds.budget, bounds.quota, bounds.udp,
             {.worker = options_.index,
              .idle = options_.udp_idle,
              .shed_elsewhere = [this](const Crowded& crowded) {
                options_.shed_session(*this, crowded);
              }}) {}

  EventLoop& loop() { return *loop_; }
  std::size_t load() const { return load_.load(std::memory_order_relaxed); }
  UdpProxy& udp() { return udp_; }

  void open(const ListenerPtr& listener, std::vector<BoundSocket> sockets) {
    for (BoundSocket& socket : sockets) {
      if (listener->protocol() == model::Transport::tcp)
        tcp_.open(listener, std::move(socket.fd), socket.nth);
      else
        udp_.open(listener, std::move(socket.fd), socket.nth);
    }
  }
  void close(const Listener& listener) {
    if (listener.protocol() == model::Transport::tcp)
      tcp_.close(listener);
    else
      udp_.close(listener);
  }
  void release(Backend& backend) {
    backend.users[options_.index].for_each([](BackendUser& user) { user.on_target_removed(); });
  }

  // On this worker's own thread.
  void carry(Accepted accepted) {
    load_.fetch_add(1, std::memory_order_relaxed);
    tcp_.carry(std::move(accepted));
  }
  // On another one's. It counts from now on, so that a burst is spread.
  void hand_over(Accepted accepted) {
    load_.fetch_add(1, std::memory_order_relaxed);
    bool first = false;
    {
      const MutexLock lock(mu_);
      handed_.push_back(std::move(accepted));
      first = handed_.size() == 1;
    }
    if (first) loop_->post([this] { carry_handed(); });
  }

 private:
  void carry_handed() {
    std::vector<Accepted> handed;
    {
      const MutexLock lock(mu_);
      handed.swap(handed_);
    }
    for (Accepted& accepted : handed) tcp_.carry(std::move(accepted));
  }

  const Options options_;
  std::unique_ptr<EventLoop> loop_;
  std::atomic<std::size_t> load_{0};
  TcpProxy tcp_;
  UdpProxy udp_;
  Mutex mu_;
  std::vector<Accepted> handed_ GUARDED_BY(mu_);
};

struct DataPlane::Impl {
  explicit Impl(const Options& options)
      : budget(options.fd_budget, options.listening_files),
        quota(options.max_udp_sessions, options.threads),
        tcp(options.tcp),
        udp(options.udp) {}
  ~Impl() {
    // All threads first: they hand connections to each other.
    for (const auto& worker : workers) worker->loop().stop();
  }

  void place(Worker& from, Accepted accepted) {
    Worker* best = &from;
    for (const auto& worker : workers)
      if (worker->load() < best->load()) best = worker.get();
    if (best == &from)
      best->carry(std::move(accepted));
    else
      best->hand_over(std::move(accepted));
  }

  void shed_session(const Worker& from, const Crowded& crowded) {
    if (crowded.client || crowded.listener) {
      for (const auto& worker : workers)
        if (worker.get() != &from) shed_on(*worker, crowded);
    } else {
      // Some other thread has more than its share then.
      shed_on(**std::ranges::max_element(
                  workers, {}, [](const auto& worker) { return worker->udp().sessions(); }),
              crowded);
    }
  }
  static void shed_on(Worker& worker, const Crowded& crowded) {
    worker.loop().post([&worker, crowded] { worker.udp().shed(crowded); });
  }

  FdBudget budget;
  SessionQuota quota;
  Seats tcp;
  Seats udp;
  std::vector<std::unique_ptr<Worker>> workers;
  std::atomic<std::size_t> next_home{0};
};

DataPlane::DataPlane(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DataPlane::~DataPlane() = default;

Result<std::unique_ptr<DataPlane>> DataPlane::start(const Options& options) {
  auto impl = std::make_unique<Impl>(options);
  for (std::size_t i = 0; i < std::max<std::size_t>(options.threads, 1); ++i) {
    Result<std::unique_ptr<EventLoop>> loop = EventLoop::start("edge");
    if (!loop) return pass(loop);
    impl->workers.push_back(std::make_unique<Worker>(
        std::move(*loop), Worker::Bounds{impl->budget, impl->quota, impl->tcp, impl->udp},
        Worker::Options{.index = i,
                        .udp_idle = options.udp_idle,
                        .connect_patience = options.connect_patience,
                        .place = [raw = impl.get()](
                                     Worker& from,
                                     Accepted accepted) { raw->place(from, std::move(accepted)); },
                        .shed_session =
                            [raw = impl.get()](Worker& from, const Crowded& crowded) {
                              raw->shed_session(from, crowded);
                            }}));
  }
  return std::unique_ptr<DataPlane>(new DataPlane(std::move(impl)));
}

std::size_t DataPlane::threads() const { return impl_->workers.size(); }
FdBudget& DataPlane::budget() { return impl_->budget; }

void DataPlane::open(const ListenerPtr& listener, std::vector<BoundSocket> sockets) {
  std::vector<std::vector<BoundSocket>> shares(threads());
  for (BoundSocket& socket : sockets)
    shares[impl_->next_home++ % threads()].push_back(std::move(socket));
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].empty()) continue;
    Worker& worker = *impl_->workers[i];
    // Shared: a posted function must be copyable.
    const auto share = std::make_shared<std::vector<BoundSocket>>(std::move(shares[i]));
    worker.loop().post([&worker, listener, share] { worker.open(listener, std::move(*share)); });
  }
}

void DataPlane::close(const ListenerPtr& listener) {
  for (const auto& worker : impl_->workers)
    worker->loop().post([raw = worker.get(), listener] { raw->close(*listener); });
}

void DataPlane::release(std::vector<BackendPtr> removed) {
  if (removed.empty()) return;
  const auto shared = std::make_shared<const std::vector<BackendPtr>>(std::move(removed));
  for (const auto& worker : impl_->workers) {
    worker->loop().post([raw = worker.get(), shared] {
      for (const BackendPtr& backend : *shared) raw->release(*backend);
    });
  }
}

void DataPlane::settle(Tasks& tasks) {
  struct Latch {
    std::atomic<std::size_t> left;
    std::unique_ptr<Signal> done;
  };
  const auto latch = std::make_shared<Latch>();
  latch->left = threads();
  latch->done = tasks.signal();
  for (const auto& worker : impl_->workers) {
    worker->loop().post([latch] {
      if (--latch->left == 0) latch->done->notify();
    });
  }
  while (latch->left > 0) (void)tasks.wait(*latch->done, kNever, {});
}

}  // namespace berth::edge
