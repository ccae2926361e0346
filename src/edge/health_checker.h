// Asks targets whether they still answer, and marks those that do not. Has a thread of its own;
// any thread may call. Owned by the driver.
//
// TCP: a connection is opened and closed. UDP: an empty datagram is sent; a port that is closed
// says so by ICMP, and silence counts as health, since there is nothing that every UDP service
// answers. A target counts as healthy until it failed `unhealthy_count` times in a row, and again
// after it answered `healthy_count` times in a row. Of a range the first port is asked.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "edge/fd_budget.h"
#include "edge/listener.h"

namespace berth::edge {

// What 0 means in a health check.
inline constexpr std::uint32_t kHealthIntervalSeconds = 5;
inline constexpr std::uint32_t kHealthTimeoutSeconds = 2;
inline constexpr std::uint32_t kHealthyCount = 3;
inline constexpr std::uint32_t kUnhealthyCount = 3;
// Questions under way at one time, over all listeners; others wait for their turn.
inline constexpr std::size_t kMaxHealthProbes = 512;

class HealthChecker {
 public:
  // `second`: how long a second of a health check lasts; tests make it short.
  static Result<std::unique_ptr<HealthChecker>> start(FdBudget& budget, Duration second,
                                                      std::size_t max_probes = kMaxHealthProbes);
  ~HealthChecker();

  // Checks the listener's targets as they are now, like this; not at all without a check that is
  // enabled: then all of them count as healthy.
  // `on_change` is called on the checker's thread, without a lock, when one of them is judged
  // otherwise than before; it must not wait.
  void set(const ListenerPtr& listener, const Boxed<model::HealthCheck>& check,
           std::function<void()> on_change = {});
  void forget(const ListenerPtr& listener);

 private:
  class Impl;
  explicit HealthChecker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::edge
