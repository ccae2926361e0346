// The UDP sessions of one worker: datagrams of a client go to the target that its first one was
// given, and what the target says goes back to the client. Lives on the worker's loop; not
// thread-safe.
//
// A session has a socket of its own, so the target sees clients apart, and hears from its target
// alone. It ends when nobody spoke for `idle`, when its target is removed, and when the target's
// port is closed (ICMP says so): the client goes on with another target, if there is one. When the
// quota, the budget or the process has no room, the session that was silent for longest makes it;
// when a listener or a client address has all that it may have, one of its own does.
#pragma once

#include <algorithm>
#include <atomic>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "edge/datagram_writer.h"
#include "edge/event_loop.h"
#include "edge/fd_budget.h"
#include "edge/listener.h"

namespace berth::edge {

// How many sessions all workers together may have, and which part of them nobody can take from a
// worker. Thread-safe.
class SessionQuota {
 public:
  SessionQuota(std::size_t most, std::size_t workers)
      : most_(most), share_(std::max<std::size_t>(most / std::max<std::size_t>(workers, 1), 1)) {}

  // False: it is one too many.
  bool begin() { return used_.fetch_add(1, std::memory_order_relaxed) < most_; }
  void end() { used_.fetch_sub(1, std::memory_order_relaxed); }
  std::size_t share() const { return share_; }

 private:
  const std::size_t most_;
  const std::size_t share_;
  std::atomic<std::size_t> used_{0};
};

// Who is to make room. What is not said is anybody's.
struct Crowded {
  ListenerPtr listener{};
  std::optional<IpBytes> client{};  // as `client_of` says it
};

class UdpProxy {
 public:
  struct Options {
    std::size_t worker = 0;
    Duration idle = std::chrono::seconds{60};
    // Asks other workers to end such a session; of anybody's, one that has more than its share.
    std::function<void(const Crowded&)> shed_elsewhere{};
  };
  UdpProxy(EventLoop& loop, FdBudget& budget, SessionQuota& quota, Seats& seats, Options options);
  ~UdpProxy();

  // The socket holds its place in the budget.
  void open(ListenerPtr listener, Fd socket, model::Port nth);
  // Its sockets and what is left of its sessions.
  void close(const Listener& listener);
  // Another worker has taken one of its share, and there are too many now.
  void shed(const Crowded& crowded);
  // For any thread.
  std::size_t sessions() const { return size_.load(std::memory_order_relaxed); }

 private:
  class Port;
  class Session;
  struct Batch;
  struct OfClient;  // names a list: sessions of one client address
  using ClientSessions = IntrusiveList<Session, OfClient>;
  struct SessionKey {
    const Port* port = nullptr;
    SocketAddress client{};
    friend bool operator==(const SessionKey&, const SessionKey&) = default;
  };
  struct HashKey {
    std::size_t operator()(const SessionKey& key) const;
  };

  bool listen_on(Port& port);
  void listen_again_later();
  void receive_from_clients(Port& port);
  void send_to_targets(Port& port, std::size_t received);
  void receive_from_target(Session& session);
  void send_to_clients();
  Session* session_of(Port& port, const SocketAddress& client);
  // With a target beside the one that it has left, if any.
  Session* begin_session(Port& port, const SocketAddress& client,
                         std::span<const BackendPtr> left = {});
  void leave_target(Session& session);
  // Where there is no room, an old session makes it.
  Result<Fd> connect(const SocketAddress& to);
  bool make_room();
  std::expected<Seat, Bound> take_seat(Port& port, const SocketAddress& client);
  // One that was silent for long; nothing when this worker has none.
  Session* stale_session(const Crowded& crowded);
  void displace(Session& session, Reason reason);
  void give_room_back();
  void end_session(Session& session);
  void touch(Session& session);
  void expire();

  EventLoop& loop_;
  FdBudget& budget_;
  SessionQuota& quota_;
  Seats& seats_;
  const Options options_;
  const std::unique_ptr<Batch> in_;   // from clients
  const std::unique_ptr<Batch> out_;  // to clients, all through the socket of `out_port_`
  Port* out_port_ = nullptr;
  DatagramWriter writer_;
  std::unordered_multimap<const Listener*, std::unique_ptr<Port>> ports_;
  std::unordered_map<SessionKey, std::unique_ptr<Session>, HashKey> sessions_;
  std::map<IpBytes, ClientSessions> by_client_;
  IntrusiveList<Session, Session> ages_;  // silent for longest first
  std::atomic<std::size_t> size_{0};      // of `sessions_`
  bool listening_again_ = false;          // a look at sockets that are not watched is to come
  bool expiring_ = false;                 // a look at the oldest is to come
};

}  // namespace berth::edge
