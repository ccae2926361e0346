#include "edge/tcp_proxy.h"

#include <fcntl.h>

#include <cerrno>

namespace berth::edge {
namespace {

// Connections of one socket before the others have their turn.
constexpr int kAcceptsPerRound = 64;
constexpr std::size_t kFdsPerConnection = 2;

Fd open_spare() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

class TcpProxy::Acceptor final : public Watcher {
 public:
  Acceptor(TcpProxy& its_proxy, ListenerPtr its_listener, Fd socket, model::Port its_nth)
      : proxy(its_proxy), listener(std::move(its_listener)), fd(std::move(socket)), nth(its_nth) {}
  ~Acceptor() {
    proxy.loop_.forget(fd.get());
    proxy.budget_.give_back();
  }
  void on_events(std::uint32_t) override { proxy.accept_from(*this); }

  TcpProxy& proxy;
  const ListenerPtr listener;
  const Fd fd;
  const model::Port nth;
};

TcpProxy::TcpProxy(EventLoop& loop, FdBudget& budget, Options options)
    : loop_(loop),
      budget_(budget),
      options_(std::move(options)),
      buffer_(std::make_unique_for_overwrite<CopyBuffer>()),
      spare_(open_spare()) {}

TcpProxy::~TcpProxy() {
  while (!relays_.empty()) relays_.front().abort();
}

void TcpProxy::open(ListenerPtr listener, Fd socket, model::Port nth) {
  const Listener* key = listener.get();
  auto acceptor = std::make_unique<Acceptor>(*this, std::move(listener), std::move(socket), nth);
  loop_.watch(acceptor->fd.get(), EventLoop::kReadable, *acceptor);
  acceptors_.emplace(key, std::move(acceptor));
}

void TcpProxy::close(const Listener& listener) { acceptors_.erase(&listener); }

void TcpProxy::accept_from(Acceptor& acceptor) {
  for (int i = 0; i < kAcceptsPerRound; ++i) {
    SocketAddress peer;
    Fd client = accept_tcp(acceptor.fd, peer);
    if (!client.valid()) {
      if (errno == EMFILE || errno == ENFILE) shed_one(acceptor);
      if (errno == ECONNABORTED) continue;
      return;
    }
    if (!budget_.take(kFdsPerConnection)) {
      refuse(client, *acceptor.listener);
      continue;
    }
    options_.place({acceptor.listener, acceptor.nth, std::move(client), peer.ip()});
  }
}

void TcpProxy::refuse(const Fd& client, Listener& listener) {
  close_with_reset(client);
  count(listener.counters.refused);
}

// The process is out of file descriptors in spite of the budget. A client that stays in the queue
// would wake us for ever.
void TcpProxy::shed_one(Acceptor& acceptor) {
  spare_.close();
  if (const Fd client = accept_tcp(acceptor.fd); client.valid()) refuse(client, *acceptor.listener);
  spare_ = open_spare();
}

void TcpProxy::carry(Accepted accepted) {
  const auto turn_away = [&] {
    refuse(accepted.client, *accepted.listener);
    budget_.give_back(kFdsPerConnection);
    options_.on_end();
  };
  BackendLease backend = accepted.listener->choose(accepted.from, loop_.now());
  if (!backend) return turn_away();
  const auto port = static_cast<model::Port>(backend->target.port + accepted.nth);
  Result<Fd> target = connect_tcp(backend->address.with_port(port));
  if (!target) return turn_away();

  Backend& chosen = *backend;
  auto* relay = new Relay({loop_, *this, buffer_->bytes, pipe_}, accepted.listener,
                          std::move(backend), std::move(accepted.client), std::move(*target));
  relays_.push_back(*relay);
  chosen.users[options_.worker].push_back(*relay);
  if (!relay->begin()) relay->abort();
}

void TcpProxy::on_relay_ended(Relay& relay) {
  delete &relay;
  budget_.give_back(kFdsPerConnection);
  options_.on_end();
}

}  // namespace berth::edge
