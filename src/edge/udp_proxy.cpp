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
// Sessions among which the one that makes room is chosen.
constexpr int kLookedAt = 8;
// How long sockets are left alone that the kernel did not watch.
constexpr Duration kListenPause = std::chrono::milliseconds{100};
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
    proxy.budget_.give_back_listening();
  }
  void on_events(std::uint32_t) override { proxy.receive_from_clients(*this); }

  UdpProxy& proxy;
  const ListenerPtr listener;
  const Fd fd;
  const model::Port nth;
  bool watched = false;
  IntrusiveList<Session, PortSessions> sessions{};
};

class UdpProxy::Session final : public Watcher,
                                public BackendUser,
                                public ListHook<Session>,
                                public ListHook<PortSessions>,
                                public ListHook<OfClient> {
 public:
  Session(Port& its_port, const SocketAddress& whose, BackendLease chosen, Fd socket, Seat taken)
      : port(its_port),
        client(whose),
        backend(std::move(chosen)),
        fd(std::move(socket)),
        seat(std::move(taken)) {
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
  const Seat seat;
  Instant last{};
};

std::size_t UdpProxy::HashKey::operator()(const SessionKey& key) const {
  return stable_hash(key.client.ip()) ^ (std::size_t{key.client.port()} * 0x9e3779b97f4a7c15u) ^
         reinterpret_cast<std::uintptr_t>(key.port);
}

UdpProxy::UdpProxy(EventLoop& loop, FdBudget& budget, SessionQuota& quota, Seats& seats,
                   Options options)
    : loop_(loop),
      budget_(budget),
      quota_(quota),
      seats_(seats),
      options_(std::move(options)),
      in_(std::make_unique<Batch>()),
      out_(std::make_unique<Batch>()) {}

UdpProxy::~UdpProxy() {
  sessions_.clear();  // before the ports that they speak through
}

void UdpProxy::open(ListenerPtr listener, Fd socket, model::Port nth) {
  const Listener* key = listener.get();
  auto port = std::make_unique<Port>(*this, std::move(listener), std::move(socket), nth);
  Port& opened = *port;
  ports_.emplace(key, std::move(port));
  if (!listen_on(opened)) listen_again_later();
}

bool UdpProxy::listen_on(Port& port) {
  if (!port.watched) port.watched = loop_.watch(port.fd.get(), EventLoop::kReadable, port);
  return port.watched;
}

// The kernel watches no more sockets; it may do so later.
void UdpProxy::listen_again_later() {
  if (std::exchange(listening_again_, true)) return;
  loop_.after(kListenPause, [this] {
    listening_again_ = false;
    bool all = true;
    for (const auto& [listener, port] : ports_) all = listen_on(*port) && all;
    if (!all) listen_again_later();
  });
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
  const auto refuse = [&](Reason reason) -> Session* {
    count(listener.counters.refused_by, reason);
    return nullptr;
  };
  BackendLease backend = listener.choose(client.ip(), loop_.now(), left);
  if (!backend) return refuse(Reason::target);
  auto seat = take_seat(port, client);
  if (!seat) return refuse(reason_of(seat.error()));
  if (!make_room()) return refuse(Reason::files);
  const auto to = static_cast<model::Port>(backend->target.port + port.nth);
  Result<Fd> fd = connect(backend->address.with_port(to));
  if (!fd) {
    give_room_back();
    return refuse(fd.error().code == Code::exhausted ? Reason::files : Reason::target);
  }
  Backend& chosen = *backend;
  auto session =
      std::make_unique<Session>(port, client, std::move(backend), std::move(*fd), std::move(*seat));
  Session* const raw = session.get();
  if (!loop_.watch(raw->fd.get(), EventLoop::kReadable, *raw)) return refuse(Reason::files);
  by_client_[client_of(client.ip())].push_back(*raw);
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
  displace(ages_.front(), Reason::files);
  return connect_udp(to);
}

// Takes a file descriptor from the budget and a place of the quota; whoever was silent for longest
// pays for them if need be. One that has less than its share may take a place in advance.
bool UdpProxy::make_room() {
  if (!budget_.take()) {
    if (ages_.empty()) {
      options_.shed_elsewhere({});  // in time for the client's next datagram
      return false;
    }
    displace(ages_.front(), Reason::files);
    if (!budget_.take()) return false;
  }
  if (quota_.begin()) return true;
  if (sessions_.size() >= quota_.share())
    displace(ages_.front(), Reason::files);
  else
    options_.shed_elsewhere({});
  return true;
}

// A listener's or a client's own sessions make room for its next one: to refuse it would let
// anybody who forges a player's address keep that player out.
std::expected<Seat, Bound> UdpProxy::take_seat(Port& port, const SocketAddress& client) {
  auto seat = seats_.take(port.listener->seats, client.ip());
  if (seat) return seat;
  const Crowded crowded = seat.error() == Bound::client ? Crowded{.client = client_of(client.ip())}
                                                        : Crowded{.listener = port.listener};
  Session* const stale = stale_session(crowded);
  if (stale == nullptr) {
    options_.shed_elsewhere(crowded);  // in time for the client's next datagram
    return seat;
  }
  displace(*stale, reason_of(seat.error()));
  return seats_.take(port.listener->seats, client.ip());
}

UdpProxy::Session* UdpProxy::stale_session(const Crowded& crowded) {
  Session* out = nullptr;
  // No list but one follows every datagram, so this looks at some, and at others the next time.
  const auto look_at_some = [&](auto& list) {
    const Session* first = nullptr;
    for (int i = 0; i < kLookedAt && !list.empty() && &list.front() != first; ++i) {
      Session& next = list.front();
      if (first == nullptr) first = &next;
      list.push_back(next);
      if (out == nullptr || next.last < out->last) out = &next;
    }
  };
  if (crowded.client) {
    if (const auto its = by_client_.find(*crowded.client); its != by_client_.end())
      look_at_some(its->second);
  } else if (crowded.listener) {
    const auto [first, last] = ports_.equal_range(crowded.listener.get());
    for (auto port = first; port != last; ++port) look_at_some(port->second->sessions);
  } else if (!ages_.empty()) {
    out = &ages_.front();
  }
  return out;
}

void UdpProxy::displace(Session& session, Reason reason) {
  count(session.port.listener->counters.displaced_by, reason);
  end_session(session);
}

void UdpProxy::give_room_back() {
  budget_.give_back();
  quota_.end();
}

void UdpProxy::shed(const Crowded& crowded) {
  const bool anybody = !crowded.client && !crowded.listener;
  if (anybody && sessions_.size() <= quota_.share()) return;
  Session* const stale = stale_session(crowded);
  if (stale == nullptr) return;
  displace(*stale, crowded.client     ? Reason::client
                   : crowded.listener ? Reason::listener
                                      : Reason::files);
}

void UdpProxy::end_session(Session& session) {
  std::replace(in_->sessions.begin(),
               in_->sessions.begin() + static_cast<std::ptrdiff_t>(in_->used), &session,
               static_cast<Session*>(nullptr));
  const auto others = by_client_.find(client_of(session.client.ip()));
  sessions_.erase({&session.port, session.client});
  if (others != by_client_.end() && others->second.empty()) by_client_.erase(others);
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
