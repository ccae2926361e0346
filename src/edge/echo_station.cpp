#include "edge/echo_station.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <future>
#include <map>
#include <set>

#include "edge/echo_http.h"
#include "edge/event_loop.h"
#include "edge/fd_budget.h"

namespace berth::edge {
namespace {

constexpr std::size_t kEchoBuffer = 64u << 10;
// Datagrams of one socket before the others have their turn.
constexpr int kDatagramsPerRound = 64;
// Peers of a UDP port that are told apart; past it the oldest addresses count as new again.
constexpr std::size_t kMaxKnownPeers = 4096;

// What lives on the loop for one port.
class Port {
 public:
  Port(EventLoop& loop, FdBudget& budget, Fd fd, EchoStation::Options options)
      : loop_(loop), budget_(budget), fd_(std::move(fd)), options_(std::move(options)) {}
  virtual ~Port() { budget_.give_back(); }

  void begin() {
    loop_.watch(fd_.get(), EventLoop::kReadable, [this](std::uint32_t) { on_readable(); });
  }
  virtual void end() { loop_.forget(fd_.get()); }

 protected:
  virtual void on_readable() = 0;
  void talk(const std::string& peer) const {
    if (options_.on_talk) options_.on_talk(peer);
  }

  EventLoop& loop_;
  FdBudget& budget_;
  const Fd fd_;
  const EchoStation::Options options_;
};

class TcpPort final : public Port {
 public:
  using Port::Port;

  void end() override {
    Port::end();
    for (const auto& [raw, peer] : peers_) loop_.forget(raw);
    budget_.give_back(peers_.size());
    peers_.clear();
  }

 private:
  struct Peer {
    Fd fd;
    std::string outgoing;
    std::string heard{};  // of a request, which is answered when it is whole
    bool ended = false;
  };

  void on_readable() override {
    for (Fd fd = accept_tcp(fd_); fd.valid(); fd = accept_tcp(fd_)) {
      if (!budget_.take()) continue;  // closed at once
      const int raw = fd.get();
      const std::string name = peer_of(fd);
      peers_.insert_or_assign(raw, Peer{std::move(fd), options_.http ? "" : options_.greeting});
      const std::uint32_t events = EventLoop::kReadable | EventLoop::kWritable;
      if (!loop_.watch(raw, events, [this, raw](std::uint32_t seen) { on_events(raw, seen); })) {
        forget(raw);
        continue;
      }
      talk(name);
    }
  }

  void on_events(int raw, std::uint32_t events) {
    Peer& peer = peers_.at(raw);
    bool broken = events & EventLoop::kFailed;
    if (!broken && !peer.ended && peer.outgoing.empty() && (events & EventLoop::kReadable)) {
      std::array<char, kEchoBuffer> buffer;
      const ssize_t n = ::recv(raw, buffer.data(), buffer.size(), 0);
      if (n > 0) hear(peer, std::string_view(buffer.data(), static_cast<std::size_t>(n)));
      if (n == 0) peer.ended = true;
    }
    while (!broken && !peer.outgoing.empty()) {
      const ssize_t n = ::send(raw, peer.outgoing.data(), peer.outgoing.size(), MSG_NOSIGNAL);
      if (n < 0) {
        broken = errno != EAGAIN && errno != EINTR;
        break;
      }
      peer.outgoing.erase(0, static_cast<std::size_t>(n));
      if (peer.outgoing.empty()) answer(peer);
    }
    if (broken || (peer.ended && peer.outgoing.empty())) return forget(raw);
    loop_.change(raw, peer.outgoing.empty() ? EventLoop::kReadable : EventLoop::kWritable);
  }

  void hear(Peer& peer, std::string_view text) {
    if (!options_.http) {
      peer.outgoing = text;
      return;
    }
    peer.heard += text;
    answer(peer);
  }
  // The next request that is whole, if there is one.
  void answer(Peer& peer) {
    if (!options_.http || peer.ended) return;
    std::optional<EchoAnswer> said = take_request(peer.heard, options_.greeting);
    if (!said) return;
    peer.outgoing = std::move(said->text);
    peer.ended = said->last;
  }

  void forget(int raw) {
    loop_.forget(raw);
    peers_.erase(raw);
    budget_.give_back();
  }

  std::map<int, Peer> peers_;
};

class UdpPort final : public Port {
 public:
  using Port::Port;

 private:
  void on_readable() override {
    std::array<char, kEchoBuffer> buffer;
    for (int i = 0; i < kDatagramsPerRound; ++i) {
      SocketAddress from;
      socklen_t length = SocketAddress::kRoom;
      const ssize_t n =
          ::recvfrom(fd_.get(), buffer.data(), buffer.size(), 0, from.room(), &length);
      if (n < 0) return;
      greet(model::to_string(from.to_target()));
      (void)::sendto(fd_.get(), buffer.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL,
                     from.get(), length);
    }
  }

  void greet(const std::string& peer) {
    if (known_.size() == kMaxKnownPeers) known_.clear();
    if (known_.insert(peer).second) talk(peer);
  }

  std::set<std::string> known_;
};

// Runs the function on the loop and returns when it has run.
template <class Function>
void run_on(EventLoop& loop, Function function) {
  // Shared: the waiting side may be gone before `set_value` has returned.
  const auto done = std::make_shared<std::promise<void>>();
  loop.post([&function, done] {
    function();
    done->set_value();
  });
  done->get_future().wait();
}

class OpenPlace final : public EchoStation::Place {
 public:
  OpenPlace(EventLoop& loop, std::unique_ptr<Port> port) : loop_(loop), port_(std::move(port)) {
    run_on(loop_, [this] { port_->begin(); });
  }
  ~OpenPlace() override {
    run_on(loop_, [this] {
      port_->end();
      port_.reset();
    });
  }

 private:
  EventLoop& loop_;
  std::unique_ptr<Port> port_;
};

}  // namespace

class EchoStation::Impl {
 public:
  Impl(std::size_t max_sockets, std::unique_ptr<EventLoop> loop)
      : budget_(max_sockets), loop_(std::move(loop)) {}

  Result<std::unique_ptr<Place>> open(Options options) {
    const bool tcp = options.protocol == model::Transport::tcp;
    if (!budget_.take()) {
      return fail(Code::exhausted, "all {} sockets of echo servers are in use", budget_.most());
    }
    Result<Fd> fd = tcp ? listen_tcp(options.at) : bind_udp(options.at);
    if (!fd) {
      budget_.give_back();
      return pass(fd);
    }
    std::unique_ptr<Port> port;
    if (tcp) {
      port = std::make_unique<TcpPort>(*loop_, budget_, std::move(*fd), std::move(options));
    } else {
      port = std::make_unique<UdpPort>(*loop_, budget_, std::move(*fd), std::move(options));
    }
    return std::make_unique<OpenPlace>(*loop_, std::move(port));
  }
  std::size_t sockets() const { return budget_.used(); }

 private:
  FdBudget budget_;
  std::unique_ptr<EventLoop> loop_;  // last: its thread uses the budget
};

EchoStation::EchoStation(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EchoStation::~EchoStation() = default;

Result<std::unique_ptr<EchoStation>> EchoStation::start(std::size_t max_sockets) {
  Result<std::unique_ptr<EventLoop>> loop = EventLoop::start("echo");
  if (!loop) return pass(loop);
  return std::unique_ptr<EchoStation>(
      new EchoStation(std::make_unique<Impl>(max_sockets, std::move(*loop))));
}

Result<std::unique_ptr<EchoStation::Place>> EchoStation::open(Options options) {
  return impl_->open(std::move(options));
}
std::size_t EchoStation::sockets() const { return impl_->sockets(); }

}  // namespace berth::edge
