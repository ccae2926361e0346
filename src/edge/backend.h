// One target of one listener, as the data plane has it. Shared by the balancer that chooses it and
// by the connections that go to it, which may outlive its place in the listener.
//
// Any thread may read; who may write is said with each member.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "edge/intrusive_list.h"
#include "edge/socket.h"
#include "model/listener.h"

namespace berth::edge {

// A connection or session that goes to a backend. Lives on one worker.
class BackendUser : public ListHook<BackendUser> {
 public:
  // The target was removed: close at once. May destroy the user.
  virtual void on_target_removed() = 0;

 protected:
  ~BackendUser() = default;
};

struct Backend {
  Backend(model::Target where, SocketAddress socket_address, std::size_t workers)
      : target(std::move(where)),
        address(socket_address),
        hash(stable_hash(model::to_string(target))),
        users(workers) {}

  const model::Target target;
  const SocketAddress address;
  const std::uint64_t hash;
  // Written under the listener's lock.
  std::atomic<std::uint32_t> weight{model::kDefaultWeight};
  std::atomic<bool> removed{false};
  // Written by the health checker.
  std::atomic<bool> healthy{true};
  // Whether a check has said so: until then it counts as healthy and nobody is told that it is.
  std::atomic<bool> judged{false};
  // Counted up when it is chosen; `active` down when the connection or session ends.
  std::atomic<std::uint64_t> chosen{0};
  std::atomic<std::uint32_t> active{0};
  // One list for each worker, which alone touches it.
  std::vector<IntrusiveList<BackendUser, BackendUser>> users;
};

using BackendPtr = std::shared_ptr<Backend>;

// A choice of a backend: counts as active there for as long as it lives. Moves with its owner.
class BackendLease {
 public:
  BackendLease() = default;
  explicit BackendLease(BackendPtr backend) : backend_(std::move(backend)) {
    if (!backend_) return;
    backend_->chosen.fetch_add(1, std::memory_order_relaxed);
    backend_->active.fetch_add(1, std::memory_order_relaxed);
  }
  BackendLease(BackendLease&&) = default;
  BackendLease& operator=(BackendLease&& other) noexcept {
    std::swap(backend_, other.backend_);
    return *this;
  }
  ~BackendLease() {
    if (backend_) backend_->active.fetch_sub(1, std::memory_order_relaxed);
  }

  explicit operator bool() const { return backend_ != nullptr; }
  Backend* operator->() const { return backend_.get(); }
  Backend& operator*() const { return *backend_; }
  const BackendPtr& shared() const { return backend_; }

 private:
  BackendPtr backend_;
};

}  // namespace berth::edge
