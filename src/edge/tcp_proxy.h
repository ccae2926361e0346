// The TCP connections of one worker: listens, accepts, and carries connections to their targets.
// Lives on the worker's loop; not thread-safe.
//
// Whoever accepts a connection lets the worker with the fewest have it; from then on it stays there
// whole.
#pragma once

#include <expected>
#include <functional>
#include <unordered_map>
#include <vector>

#include "edge/fd_budget.h"
#include "edge/relay.h"

namespace berth::edge {

// A client whose target is not reached is given others, each once, so many in all. With those that
// do not answer it waits for a dozen seconds: longer, and most clients have given up.
inline constexpr std::size_t kMaxTargetsTried = 4;

class TcpProxy final : private Relay::Owner {
 public:
  struct Options {
    std::size_t worker = 0;
    Duration connect_patience{};  // with a target that does not answer, if there is another one
    std::function<void(Accepted)> place{};  // hands a connection to a worker, perhaps this one
    std::function<void()> on_end{};         // a connection that was carried here has ended
  };
  TcpProxy(EventLoop& loop, FdBudget& budget, Seats& seats, Options options);
  ~TcpProxy();

  // The socket holds its place in the budget.
  void open(ListenerPtr listener, Fd socket, model::Port nth);
  // Its sockets; connections go on.
  void close(const Listener& listener);
  void carry(Accepted accepted);

 private:
  class Acceptor;

  void accept_from(Acceptor& acceptor);
  static void refuse(const Fd& client, Listener& listener, Reason reason);
  // False: not even that can be done.
  bool shed_one(Acceptor& acceptor);
  void leave_alone(Acceptor& acceptor);
  void listen_again();
  void listen_on(Acceptor& acceptor);
  // `target`: there is none, or none that was not tried.
  std::expected<Attempt, Reason> next_attempt(Listener& listener, const IpBytes& from,
                                              model::Port nth, std::vector<BackendPtr>& tried);
  void connect(Relay& relay, Attempt attempt);
  void leave_silent_targets();
  void on_target_lost(Relay& relay) override;
  void on_relay_ended(Relay& relay) override;

  EventLoop& loop_;
  FdBudget& budget_;
  Seats& seats_;
  const Options options_;
  const std::unique_ptr<CopyBuffer> buffer_;
  SplicePipe pipe_;
  Fd spare_;  // given up for a moment to turn a client away when the process has no other
  std::unordered_multimap<const Listener*, std::unique_ptr<Acceptor>> acceptors_;
  IntrusiveList<Acceptor, Acceptor> left_alone_;  // for a moment: nobody can be accepted, or seen
  IntrusiveList<Relay, Relay> relays_;            // owned
  IntrusiveList<Relay, ConnectingList> connecting_;  // longest first
  bool watching_silence_ = false;
};

}  // namespace berth::edge
