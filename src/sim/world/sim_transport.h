// The network of a simulated process: requests travel to the embedded API server and answers travel
// back, on fibers.
//
// Every request is a seam call: the process may die before it is sent, or after it took effect with
// the answer lost. Watch streams arrive late by a seeded delay, which is what makes one replica's
// cache staler than another's; answers may be lost and streams may break. Owned by the world, one
// per process.
#pragma once

#include <memory>

#include "base/random.h"
#include "net/transport.h"
#include "sim/kernel/kernel.h"
#include "sim/world/server_gateway.h"

namespace berth::world {

// How bad the network is. It is asked before each use, so a world may mend it.
struct LinkOptions {
  // How much later than it was sent a watch's news may arrive.
  Duration max_watch_delay{};
  // How likely an answer is lost although the request took effect.
  double lost_answer_chance = 0;
  // How likely a stream breaks with each of its chunks, in the middle of it.
  double cut_stream_chance = 0;
};

class SimTransport final : public net::Transport {
 public:
  // All of them outlive it.
  SimTransport(sim::Process& process, ServerGateway& gateway, const LinkOptions& link)
      : process_(process),
        gateway_(gateway),
        link_(link),
        random_(process.kernel().fork_random()) {}

  Result<net::Response> call(const Context& context, const net::Request& request) override;
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override;

 private:
  Result<sim::kube::Answer> exchange(const Context& context, const net::Request& request);
  Result<> await(const Context& context, ServerGateway::Exchange& exchange, Signal& answered);

  sim::Process& process_;
  ServerGateway& gateway_;
  const LinkOptions& link_;
  Random random_;
};

}  // namespace berth::world
