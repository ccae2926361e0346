// The connections of a server, what their requests hold, and who goes when that is too much.
// Private to net. Thread-safe; connections are called without a lock held.
//
// Half of the bytes is shared out evenly among as many connections as there may be: what a request
// holds within its share is always given. The other half goes to larger ones, first come first.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "net/server.h"

namespace berth::net {

class ServerConnection;

class ConnectionTable {
 public:
  using Ptr = std::shared_ptr<ServerConnection>;
  struct Bounds {
    std::size_t connections;
    std::size_t bytes;
  };
  // What a connection is doing, as far as it matters to others.
  enum class Stage {
    idle,       // no request is under way
    arriving,   // one is not whole yet
    answering,  // a handler has it, or a stream goes out: never disturbed
    replying,   // the reply is on its way
  };

  // `on_place` is called when a connection that was told `soon` should be added again.
  ConnectionTable(Bounds bounds, std::function<void()> on_place);

  enum class Place { taken, soon, none };
  // With `soon` another one has been told to go.
  Place add(const Ptr& connection);
  void remove(ServerConnection* connection);
  void enter(ServerConnection* connection, Stage stage);

  enum class Grant {
    given,
    later,  // the connection is resumed when it is worth asking again
    never,  // more than there is
  };
  // What the connection's request holds from now on. Less than before is always given.
  Grant hold(ServerConnection* connection, std::size_t bytes);

  enum class Verdict {
    stay,
    yield,  // give the bytes of its unfinished request back
    leave,  // close
  };
  Verdict verdict(const ServerConnection* connection) const;
  void count_shed();

  // Nobody is added from now on. Those that are there.
  std::vector<Ptr> close();
  // False: some are left after that time.
  bool wait_until_empty(std::optional<Duration> at_most);

  // All but the requests, which the server counts.
  ServerStatistics statistics() const;

 private:
  struct Entry {
    Ptr connection;
    Stage stage = Stage::idle;
    std::uint64_t since = 0;  // in turns: when it entered the stage
    std::size_t bytes = 0;
    std::size_t wanted = 0;  // more than `bytes` while it waits
    Verdict verdict = Verdict::stay;
  };
  // Who is to be called when the lock is released.
  struct Calls;

  std::size_t beyond_share(std::size_t bytes) const;
  bool waits(const Entry& entry) const { return entry.wanted > entry.bytes; }
  Entry* oldest(Stage a, Stage b);
  Entry* who_gives_way(const Entry& asking, std::size_t more);
  void judge(Entry& entry, Verdict verdict, Calls& calls);
  void resume_waiting(Calls& calls);
  void tell_place(Calls& calls);
  void set_bytes(Entry& entry, std::size_t bytes, Calls& calls);
  void make(const Calls& calls) const;

  const std::size_t max_connections_;
  const std::size_t share_;
  const std::size_t max_common_;
  const std::function<void()> on_place_;

  mutable std::mutex mu_;
  std::condition_variable emptied_;
  // All below: mu_.
  std::unordered_map<const ServerConnection*, Entry> entries_;
  std::uint64_t turn_ = 0;
  std::size_t common_ = 0;  // what is held beyond shares
  bool closed_ = false;
  bool place_awaited_ = false;
  ServerStatistics counts_;
};

}  // namespace berth::net
