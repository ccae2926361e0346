#include "edge/tcp_proxy.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

namespace berth::edge {
namespace {

// Connections of one socket before the others have their turn.
constexpr int kAcceptsPerRound = 64;
constexpr std::size_t kFdsPerConnection = 2;
// How long a socket is left alone whose clients nobody can take.
constexpr Duration kAcceptPause = std::chrono::milliseconds{100};

bool is_out_of_something(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

Fd open_spare() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

class TcpProxy::Acceptor final : public Watcher, public ListHook<Acceptor> {
 public:
  Acceptor(TcpProxy& its_proxy, ListenerPtr its_listener, Fd socket, model::Port its_nth)
      : proxy(its_proxy), listener(std::move(its_listener)), fd(std::move(socket)), nth(its_nth) {}
  ~Acceptor() {
    proxy.loop_.forget(fd.get());
    proxy.budget_.give_back_listening();
  }
  void on_events(std::uint32_t) override { proxy.accept_from(*this); }

  TcpProxy& proxy;
  const ListenerPtr listener;
  const Fd fd;
  const model::Port nth;
  bool watched = false;
};

TcpProxy::TcpProxy(EventLoop& loop, FdBudget& budget, Seats& seats, Options options)
    : loop_(loop),
      budget_(budget),
      seats_(seats),
      options_(std::move(options)),
      buffer_(std::make_unique_for_overwrite<CopyBuffer>()),
      spare_(open_spare()) {}

TcpProxy::~TcpProxy() {
  while (!relays_.empty()) relays_.front().abort();
}

void TcpProxy::open(ListenerPtr listener, Fd socket, model::Port nth) {
  const Listener* key = listener.get();
  auto acceptor = std::make_unique<Acceptor>(*this, std::move(listener), std::move(socket), nth);
  listen_on(*acceptor);
  acceptors_.emplace(key, std::move(acceptor));
}

void TcpProxy::close(const Listener& listener) { acceptors_.erase(&listener); }

void TcpProxy::accept_from(Acceptor& acceptor) {
  for (int i = 0; i < kAcceptsPerRound; ++i) {
    SocketAddress peer;
    Fd client = accept_tcp(acceptor.fd, peer);
    if (!client.valid()) {
      if (would_block(errno)) return;
      if (!is_out_of_something(errno)) continue;  // of one that came and went
      if (!shed_one(acceptor)) leave_alone(acceptor);
      return;
    }
    auto seat = seats_.take(acceptor.listener->seats, peer.ip());
    if (!seat) {
      refuse(client, *acceptor.listener, reason_of(seat.error()));
      continue;
    }
    if (!budget_.take(kFdsPerConnection)) {
      refuse(client, *acceptor.listener, Reason::files);
      continue;
    }
    options_.place(
        {acceptor.listener, acceptor.nth, std::move(client), peer.ip(), std::move(*seat)});
  }
}

void TcpProxy::refuse(const Fd& client, Listener& listener, Reason reason) {
  close_with_reset(client);
  count(listener.counters.refused_by, reason);
}

// The process is out of file descriptors in spite of the budget. A client that stays in the queue
// would wake us for ever.
bool TcpProxy::shed_one(Acceptor& acceptor) {
  spare_.close();
  bool shed = false;
  if (const Fd client = accept_tcp(acceptor.fd); client.valid()) {
    refuse(client, *acceptor.listener, Reason::files);
    shed = true;
  }
  spare_ = open_spare();  // none, if somebody else was quicker: tried again next time
  return shed;
}

void TcpProxy::leave_alone(Acceptor& acceptor) {
  if (acceptor.watched) loop_.change(acceptor.fd.get(), 0);
  if (left_alone_.empty()) loop_.after(kAcceptPause, [this] { listen_again(); });
  left_alone_.push_back(acceptor);
}

void TcpProxy::listen_again() {
  std::vector<Acceptor*> all;
  left_alone_.for_each([&](Acceptor& acceptor) {
    acceptor.unlink();
    all.push_back(&acceptor);
  });
  for (Acceptor* const acceptor : all) listen_on(*acceptor);
}

// Where the kernel watches no more sockets, it may do so later.
void TcpProxy::listen_on(Acceptor& acceptor) {
  if (acceptor.watched)
    loop_.change(acceptor.fd.get(), EventLoop::kReadable);
  else
    acceptor.watched = loop_.watch(acceptor.fd.get(), EventLoop::kReadable, acceptor);
  if (!acceptor.watched) leave_alone(acceptor);
}

void TcpProxy::carry(Accepted accepted) {
  std::vector<BackendPtr> tried;
  std::expected<Attempt, Reason> first =
      next_attempt(*accepted.listener, accepted.from, accepted.nth, tried);
  if (!first) {
    refuse(accepted.client, *accepted.listener, first.error());
    budget_.give_back(kFdsPerConnection);
    return options_.on_end();
  }
  auto* relay =
      new Relay({loop_, *this, buffer_->bytes, pipe_}, std::move(accepted), std::move(tried));
  relays_.push_back(*relay);
  connect(*relay, std::move(*first));
}

std::expected<Attempt, Reason> TcpProxy::next_attempt(Listener& listener, const IpBytes& from,
                                                      model::Port nth,
                                                      std::vector<BackendPtr>& tried) {
  while (tried.size() < kMaxTargetsTried) {
    BackendLease backend = listener.choose(from, loop_.now(), tried);
    if (!backend) break;
    const auto port = static_cast<model::Port>(backend->target.port + nth);
    Result<Fd> fd = connect_tcp(backend->address.with_port(port));
    if (fd) return Attempt{std::move(backend), std::move(*fd)};
    // We have no file descriptor left: no other target would help.
    if (fd.error().code == Code::exhausted) return std::unexpected(Reason::files);
    count(listener.counters.connect_failures);
    tried.push_back(backend.shared());
  }
  return std::unexpected(Reason::target);
}

void TcpProxy::connect(Relay& relay, Attempt attempt) {
  Backend& chosen = *attempt.backend;
  const bool watched = relay.connect(std::move(attempt));
  chosen.users[options_.worker].push_back(relay);
  if (!watched) return relay.abort();
  connecting_.push_back(relay);
  if (std::exchange(watching_silence_, true)) return;
  loop_.after(options_.connect_patience / 4, [this] { leave_silent_targets(); });
}

void TcpProxy::on_target_lost(Relay& relay) {
  std::vector<BackendPtr> tried = relay.all_tried();
  auto next = next_attempt(relay.listener(), relay.from(), relay.nth(), tried);
  if (next) return connect(relay, std::move(*next));
  count(relay.listener().counters.refused_by, next.error());
  relay.abort();
}

// One that has no other target to go to waits until the kernel gives up.
void TcpProxy::leave_silent_targets() {
  while (!connecting_.empty() &&
         connecting_.front().connecting_since() + options_.connect_patience <= loop_.now()) {
    Relay& relay = connecting_.front();
    static_cast<ListHook<ConnectingList>&>(relay).unlink();
    std::vector<BackendPtr> tried = relay.all_tried();
    auto next = next_attempt(relay.listener(), relay.from(), relay.nth(), tried);
    if (!next) continue;
    count(relay.listener().counters.connect_failures);
    connect(relay, std::move(*next));
  }
  watching_silence_ = !connecting_.empty();
  if (watching_silence_)
    loop_.after(options_.connect_patience / 4, [this] { leave_silent_targets(); });
}

void TcpProxy::on_relay_ended(Relay& relay) {
  delete &relay;
  budget_.give_back(kFdsPerConnection);
  options_.on_end();
}

}  // namespace berth::edge
