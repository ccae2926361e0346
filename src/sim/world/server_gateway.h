// Where requests to the embedded API server are worked on: the world's side of the network.
//
// Each request that travelled gets a task of the world, because a write may have to wait for
// webhooks, which are answered by other processes. Whoever watches over invariants sees every
// answer at the moment it was given. Owned by the cluster.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "base/tasks.h"
#include "net/http.h"
#include "sim/kernel/kernel.h"
#include "sim/kube/server.h"
#include "wire/value.h"

namespace berth::world {

// An answer, for those who look on: the object that was written, or what the body says. That is
// read once for all of them, when the first asks.
class SeenReply {
 public:
  explicit SeenReply(const sim::kube::Answer& answer) : answer_(answer) {}
  int status() const { return answer_.reply.status; }
  // Null when the body is no JSON. Who owns which field is not for them: it may be text.
  const wire::Value* object() const;

 private:
  const sim::kube::Answer& answer_;
  mutable std::optional<Result<wire::Value>> object_;
};

class ServerGateway {
 public:
  struct Exchange {
    bool done = false;
    sim::kube::Answer answer{};
    Signal* wake = nullptr;  // of the one that waits; cleared when it gives up
  };
  using Observer = std::function<void(const net::Request& request, const SeenReply& reply)>;

  ServerGateway(sim::Kernel& kernel, sim::kube::Server& server)
      : kernel_(kernel), server_(server) {}

  // Begins to work on it; may be called inside the effect of a seam call.
  std::shared_ptr<Exchange> accept(net::Request request);
  // Works on it at once, in the calling task: for the world's own requests.
  sim::kube::Answer handle(const net::Request& request);

  // Sees each request with its answer, until it has let go of what it got here. It must not wait.
  [[nodiscard]] std::shared_ptr<const Observer> observe(Observer observer);
  // When somebody last tried to write something, other than a Lease, or was still at it.
  Instant last_activity() const;
  void note_activity() { last_activity_ = kernel_.now(); }

 private:
  struct Work {
    std::shared_ptr<Exchange> exchange;
    std::unique_ptr<Task> task;
  };
  void reap();

  sim::Kernel& kernel_;
  sim::kube::Server& server_;
  std::vector<std::weak_ptr<const Observer>> observers_;
  Instant last_activity_{};
  int writes_under_way_ = 0;
  std::list<Work> works_;
};

}  // namespace berth::world
