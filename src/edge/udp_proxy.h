// The UDP sessions of one worker: datagrams of a client go to the target that its first one was
// given, and what the target says goes back to the client. Lives on the worker's loop; not
// thread-safe.
//
// A session has a socket of its own, so the target sees clients apart, and hears from its target
// alone. It ends when nobody spoke for `idle`, when its target is removed, and when the target's
// port is closed (ICMP says so): the next datagram is given a target anew. When the table or the
// budget is full, the session that was silent for longest makes room.
#pragma once

#include <memory>
#include <unordered_map>

#include "edge/datagram_writer.h"
#include "edge/event_loop.h"
#include "edge/fd_budget.h"
#include "edge/listener.h"

namespace berth::edge {

class UdpProxy {
 public:
  struct Options {
    std::size_t worker = 0;
    Duration idle = std::chrono::seconds{60};
    std::size_t max_sessions = 0;  // of this worker
  };
  UdpProxy(EventLoop& loop, FdBudget& budget, Options options);
  ~UdpProxy();

  // The socket holds its place in the budget.
  void open(ListenerPtr listener, Fd socket, model::Port nth);
  // Its sockets and what is left of its sessions.
  void close(const Listener& listener);

 private:
  class Port;
  class Session;
  struct Batch;
  struct SessionKey {
    const Port* port = nullptr;
    SocketAddress client{};
    friend bool operator==(const SessionKey&, const SessionKey&) = default;
  };
  struct HashKey {
    std::size_t operator()(const SessionKey& key) const;
  };

  void receive_from_clients(Port& port);
  void send_to_targets(Port& port, std::size_t received);
  void receive_from_target(Session& session);
  void send_to_clients();
  Session* session_of(Port& port, const SocketAddress& client);
  Session* begin_session(Port& port, const SocketAddress& client);
  bool make_room();
  void end_session(Session& session);
  void touch(Session& session);
  void expire();

  EventLoop& loop_;
  FdBudget& budget_;
  const Options options_;
  const std::unique_ptr<Batch> in_;   // from clients
  const std::unique_ptr<Batch> out_;  // to clients, all through the socket of `out_port_`
  Port* out_port_ = nullptr;
  DatagramWriter writer_;
  std::unordered_multimap<const Listener*, std::unique_ptr<Port>> ports_;
  std::unordered_map<SessionKey, std::unique_ptr<Session>, HashKey> sessions_;
  IntrusiveList<Session, Session> ages_;  // silent for longest first
};

}  // namespace berth::edge
