#include "edge/udp_proxy.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace berth::edge {
namespace {

// Datagrams that go through one system call.
constexpr std::size_t kBatch = DatagramWriter::kMost;
// The largest datagram, and a little, so that slots do not all fall on the same cache lines.
struct alignas(64) Slot {
  std::array<char, (64u << 10) + 192> bytes;
};
// Batches of one socket before the others have their turn.
constexpr int kBatchesPerRound = 4;

// What a socket says of a target that does not hear, by itself or for ICMP. Other errors are of one
// datagram: too large, no memory for it, forbidden.
bool is_gone(int error) {
  return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH ||
         error == EHOSTDOWN || error == ENONET || error == ENOPROTOOPT;
}

}  // namespace

// Datagrams in memory, and the headers with which the kernel reads them.
struct UdpProxy::Batch {
  Batch() {
    for (std::size_t i = 0; i < kBatch; ++i) vectors[i].iov_base = slots[i].bytes.data();
  }
  // Slots from `first` on, ready to be filled.
  mmsghdr* to_receive(std::size_t first, bool with_names) {
    for (std::size_t i = first; i < kBatch; ++i) {
      vectors[i].iov_len = sizeof(Slot);
      messages[i] = {};
      messages[i].msg_hdr.msg_iov = &vectors[i];
      messages[i].msg_hdr.msg_iovlen = 1;
      if (!with_names) continue;
      messages[i].msg_hdr.msg_name = names[i].room();
      messages[i].msg_hdr.msg_namelen = SocketAddress::kRoom;
    }
    return messages.data() + first;
  }
  std::size_t length(std::size_t i) const { return messages[i].msg_len; }

  const std::unique_ptr<Slot[]> slots = std::make_unique_for_overwrite<Slot[]>(kBatch);
  std::array<mmsghdr, kBatch> messages{};
  std::array<iovec, kBatch> vectors{};
  std::array<SocketAddress, kBatch> names{};
  std::array<Session*, kBatch> sessions{};  // of clients' datagrams; none when it ended meanwhile
  std::size_t used = 0;
};

struct PortSessions;  // names a list: sessions that speak through one port

// A socket that clients send to.
class UdpProxy::Port final : public Watcher {
 public:
  Port(UdpProxy& its_proxy, ListenerPtr its_listener, Fd socket, model::Port its_nth)
      : proxy(its_proxy), listener(std::move(its_listener)), fd(std::move(socket)), nth(its_nth) {}
  ~Port() {
    proxy.loop_.forget(fd.get());
    proxy.budget_.give_back();
  }
  void on_events(std::uint32_t) override { proxy.receive_from_clients(*this); }

  UdpProxy& proxy;
  const ListenerPtr listener;
  const Fd fd;
  const model::Port nth;
  IntrusiveList<Session, PortSessions> sessions{};
};

class UdpProxy::Session final : public Watcher,
                                public BackendUser,
                                public ListHook<Session>,
                                public ListHook<PortSessions> {
 public:
  Session(Port& its_port, const SocketAddress& whose, BackendLease chosen, Fd socket)
      : port(its_port), client(whose), backend(std::move(chosen)), fd(std::move(socket)) {
    port.sessions.push_back(*this);
    count(port.listener->counters.connections);
    count(port.listener->counters.active);
  }
  ~Session() {
    port.proxy.loop_.forget(fd.get());
    port.proxy.give_room_back();
    port.listener->counters.active.fetch_sub(1, std::memory_order_relaxed);
  }
  void on_events(std::uint32_t) override { port.proxy.receive_from_target(*this); }
  void on_target_removed() override { port.proxy.end_session(*this); }

  Port& port;
  const SocketAddress client;
  const BackendLease backend;
  const Fd fd;
  Instant last{};
};

std::size_t UdpProxy::HashKey::operator()(const SessionKey& key) const {
  return stable_hash(key.client.ip()) ^ (std::size_t{key.client.port()} * 0x9e3779b97f4a7c15u) ^
         reinterpret_cast<std::uintptr_t>(key.port);
}

UdpProxy::UdpProxy(EventLoop& loop, FdBudget& budget, SessionQuota& quota, Options options)
    : loop_(loop),
      budget_(budget),
      quota_(quota),
      options_(std::move(options)),
      in_(std::make_unique<Batch>()),
      out_(std::make_unique<Batch>()) {}

UdpProxy::~UdpProxy() {
  sessions_.clear();  // before the ports that they speak through
}

void UdpProxy::open(ListenerPtr listener, Fd socket, model::Port nth) {
  const Listener* key = listener.get();
  auto port = std::make_unique<Port>(*this, std::move(listener), std::move(socket), nth);
  loop_.watch(port->fd.get(), EventLoop::kReadable, *port);
  ports_.emplace(key, std::move(port));
}

void UdpProxy::close(const Listener& listener) {
  send_to_clients();
  const auto [first, last] = ports_.equal_range(&listener);
  for (auto port = first; port != last; ++port)
    port->second->sessions.for_each([&](Session& session) { end_session(session); });
  ports_.erase(first, last);
}

void UdpProxy::receive_from_clients(Port& port) {
  for (int i = 0; i < kBatchesPerRound; ++i) {
    const int n =
        ::recvmmsg(port.fd.get(), in_->to_receive(0, true), kBatch, MSG_DONTWAIT, nullptr);
    if (n <= 0) return;
    send_to_targets(port, static_cast<std::size_t>(n));
    if (static_cast<std::size_t>(n) < kBatch) return;
  }
}

void UdpProxy::send_to_targets(Port& port, std::size_t received) {
  Batch& batch = *in_;
  // Known before a session is begun: one that makes room for another takes itself out of here.
  std::fill_n(batch.sessions.begin(), received, nullptr);
  batch.used = received;
  for (std::size_t i = 0; i < received; ++i) batch.sessions[i] = session_of(port, batch.names[i]);

  std::array<Datagram, kBatch> run;
  for (std::size_t i = 0; i < received; ++i) {
    Session* const session = batch.sessions[i];
    if (session == nullptr) continue;
    // All of one session together, in their order.
    std::size_t size = 0;
    for (std::size_t j = i; j < received; ++j) {
      if (batch.sessions[j] != session) continue;
      batch.sessions[j] = nullptr;
      run[size++] = {batch.slots[j].bytes.data(), batch.length(j)};
    }
    const DatagramWriter::Sent sent = writer_.send(session->fd, std::span(run).first(size));
    ListenerCounters& counters = port.listener->counters;
    count(counters.datagrams_in, sent.datagrams);
    count(counters.bytes_in, sent.bytes);
    count(counters.dropped, sent.dropped);
    if (sent.dropped > 0 && is_gone(sent.error)) leave_target(*session);
  }
  batch.used = 0;
}

UdpProxy::Session* UdpProxy::session_of(Port& port, const SocketAddress& client) {
  const auto known = sessions_.find({&port, client});
  Session* const session =
      known == sessions_.end() ? begin_session(port, client) : known->second.get();
  if (session != nullptr) touch(*session);
  return session;
}

UdpProxy::Session* UdpProxy::begin_session(Port& port, const SocketAddress& client,
                                           std::span<const BackendPtr> left) {
  Listener& listener = *port.listener;
  const auto refuse = [&]() -> Session* {
    count(listener.counters.refused);
    return nullptr;
  };
  BackendLease backend = listener.choose(client.ip(), loop_.now(), left);
  if (!backend || !make_room()) return refuse();
  const auto to = static_cast<model::Port>(backend->target.port + port.nth);
  Result<Fd> fd = connect(backend->address.with_port(to));
  if (!fd) {
    give_room_back();
    return refuse();
  }
  Backend& chosen = *backend;
  auto session = std::make_unique<Session>(port, client, std::move(backend), std::move(*fd));
  Session* const raw = session.get();
  if (!loop_.watch(raw->fd.get(), EventLoop::kReadable, *raw)) return refuse();
  chosen.users[options_.worker].push_back(*raw);
  // Once, however often the last session ends and the next one begins.
  if (!std::exchange(expiring_, true)) loop_.after(options_.idle / 4, [this] { expire(); });
  sessions_.emplace(SessionKey{&port, client}, std::move(session));
  size_.store(sessions_.size(), std::memory_order_relaxed);
  return raw;
}

// The target's port is closed. A client that stays with its target, by memory or by hash, would
// come back to it with every datagram.
void UdpProxy::leave_target(Session& session) {
  Port& port = session.port;
  const SocketAddress client = session.client;
  const BackendPtr left = session.backend.shared();
  end_session(session);
  if (Session* const next = begin_session(port, client, {&left, 1})) touch(*next);
}

Result<Fd> UdpProxy::connect(const SocketAddress& to) {
  Result<Fd> fd = connect_udp(to);
  // The process is out of file descriptors or ports in spite of the budget.
  if (fd || fd.error().code != Code::exhausted || ages_.empty()) return fd;
  end_session(ages_.front());
  return connect_udp(to);
}

// Takes a file descriptor from the budget and a place of the quota; whoever was silent for longest
// pays for them if need be. One that has less than its share may take a place in advance.
bool UdpProxy::make_room() {
  if (!budget_.take()) {
    if (ages_.empty()) {
      options_.shed_elsewhere();  // in time for the client's next datagram
      return false;
    }
    end_session(ages_.front());
    if (!budget_.take()) return false;
  }
  if (quota_.begin()) return true;
  if (sessions_.size() >= quota_.share())
    end_session(ages_.front());
  else
    options_.shed_elsewhere();
  return true;
}

void UdpProxy::give_room_back() {
  budget_.give_back();
  quota_.end();
}

void UdpProxy::shed() {
  if (sessions_.size() > quota_.share()) end_session(ages_.front());
}

void UdpProxy::end_session(Session& session) {
  std::replace(in_->sessions.begin(),
               in_->sessions.begin() + static_cast<std::ptrdiff_t>(in_->used), &session,
               static_cast<Session*>(nullptr));
  sessions_.erase({&session.port, session.client});
  size_.store(sessions_.size(), std::memory_order_relaxed);
}

void UdpProxy::touch(Session& session) {
  session.last = loop_.now();
  ages_.push_back(session);
}

void UdpProxy::expire() {
  while (!ages_.empty() && ages_.front().last + options_.idle <= loop_.now())
    end_session(ages_.front());
  expiring_ = !sessions_.empty();
  if (expiring_) loop_.after(options_.idle / 4, [this] { expire(); });
}

void UdpProxy::receive_from_target(Session& session) {
  if (out_port_ != &session.port || out_->used == kBatch) send_to_clients();
  const std::size_t first = out_->used;
  const int n = ::recvmmsg(session.fd.get(), out_->to_receive(first, false),
                           static_cast<unsigned>(kBatch - first), MSG_DONTWAIT, nullptr);
  if (n < 0 && is_gone(errno)) return leave_target(session);
  if (n <= 0) return;
  if (first == 0) loop_.at_round_end([this] { send_to_clients(); });
  out_port_ = &session.port;
  out_->used += static_cast<std::size_t>(n);
  for (std::size_t i = first; i < out_->used; ++i) out_->names[i] = session.client;
  touch(session);
}

void UdpProxy::send_to_clients() {
  Batch& batch = *out_;
  if (batch.used == 0) return;
  std::array<Datagram, kBatch> all;
  for (std::size_t i = 0; i < batch.used; ++i)
    all[i] = {batch.slots[i].bytes.data(), batch.length(i), &batch.names[i]};
  const DatagramWriter::Sent sent = writer_.send(out_port_->fd, std::span(all).first(batch.used));
  batch.used = 0;
  ListenerCounters& counters = out_port_->listener->counters;
  count(counters.datagrams_out, sent.datagrams);
  count(counters.bytes_out, sent.bytes);
  count(counters.dropped, sent.dropped);
}

}  // namespace berth::edge
