// A Transport that lets nothing be written past a fence: what controllers of the leader write goes
// through it, so that none of them can forget to ask whether it still leads.
//
// A request that is turned back is `unavailable`, and nothing was sent. Thread-safe; owned by the
// composition root.
#pragma once

#include <functional>

#include "net/transport.h"

namespace berth::kube {

class FencedTransport final : public net::Transport {
 public:
  // `may_write` is asked right before each request that is no read, by any task.
  FencedTransport(net::Transport& inner, std::function<bool()> may_write)
      : inner_(inner), may_write_(std::move(may_write)) {}

  Result<net::Response> call(const Context& context, const net::Request& request) override;
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override;

 private:
  Result<> check(const net::Request& request) const;

  net::Transport& inner_;
  const std::function<bool()> may_write_;
};

}  // namespace berth::kube
