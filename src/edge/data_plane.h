// The threads that carry traffic. Each owns its connections and sessions whole; a listening socket
// belongs to one of them, which hands new connections to the one with the fewest.
//
// Any thread may call, but changes of one listener must follow each other. Owned by the driver.
#pragma once

#include <memory>
#include <vector>

#include "base/tasks.h"
#include "edge/fd_budget.h"
#include "edge/listener.h"

namespace berth::edge {

// So long two SYNs were lost, and the third is under way.
inline constexpr int kConnectPatienceSeconds = 3;

// A socket that is bound and waits for traffic of the listener's n-th port. Holds its place in the
// budget.
struct BoundSocket {
  Fd fd;
  model::Port nth = 0;
};

class DataPlane {
 public:
  struct Options {
    std::size_t threads = 1;
    std::size_t fd_budget = 0;
    std::size_t listening_files = 0;  // of them, kept for listening sockets
    SeatBounds tcp{};
    SeatBounds udp{};
    Duration udp_idle = std::chrono::seconds{60};
    std::size_t max_udp_sessions = 1;  // of all threads
    // With a target that does not answer, if there is another one.
    Duration connect_patience = std::chrono::seconds{kConnectPatienceSeconds};
  };
  static Result<std::unique_ptr<DataPlane>> start(const Options& options);
  ~DataPlane();

  std::size_t threads() const;
  FdBudget& budget();

  // Takes the sockets in, spread over the threads.
  void open(const ListenerPtr& listener, std::vector<BoundSocket> sockets);
  // Closes its sockets. Connections go on.
  void close(const ListenerPtr& listener);
  // Ends the connections and sessions of targets that were removed.
  void release(std::vector<BackendPtr> removed);
  // Returns when all that was asked for before has happened; that is a round of each thread away.
  void settle(Tasks& tasks);

 private:
  class Worker;
  struct Impl;
  explicit DataPlane(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::edge
