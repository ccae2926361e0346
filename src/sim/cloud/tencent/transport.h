// The simulated cloud as a net::Transport, for programs that run in the same process: on threads,
// or on fibers under the simulation's clock. Calls wait through the context's Tasks alone.
#pragma once

#include <functional>

#include "net/transport.h"
#include "sim/cloud/tencent/cloud.h"

namespace berth::sim::tencent {

// Carries a call to the cloud: `serve` is what the cloud does with it. For processes that may die
// before or after that.
using Deliver = std::function<Result<net::Reply>(const net::Request& request,
                                                 const std::function<net::Reply()>& serve)>;

struct TransportOptions {
  Duration round_trip{};  // half of it before the cloud hears the call, half of it after
  // Whose wall clock is the cloud's; null: each caller's own. Callers whose clocks differ need one.
  Tasks* clock = nullptr;
  // How long a caller waits for an answer that is lost, if its deadline lets it.
  Duration lost_after = std::chrono::seconds{5};
  Deliver deliver{};  // none: it arrives
};

// Thread-safe. The cloud outlives it.
class CloudTransport final : public net::Transport {
 public:
  explicit CloudTransport(Cloud& cloud, TransportOptions options = {})
      : cloud_(cloud), options_(std::move(options)) {}

  Result<net::Response> call(const Context& context, const net::Request& request) override;
  // The API has nothing to stream.
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override;

 private:
  Result<> wait(const Context& context, Duration span) const;

  Cloud& cloud_;
  const TransportOptions options_;
};

}  // namespace berth::sim::tencent
