// The Transport of production: libcurl on two I/O threads of its own, one for calls and one for
// streams, behind blocking functions.
//
// Owned by the composition root; any task may call it, and its streams may outlive it. A caller
// waits through its context's Tasks alone, so a stop or a deadline returns at once and the transfer
// is taken down behind it.
//
// Connections are HTTP/1.1, kept and reused between equal hosts and equal TLS settings. A request
// with a body is never sent twice: when a kept connection turns out dead after the body went out,
// the answer is `unavailable`, and the caller decides.
#pragma once

#include <cstddef>
#include <memory>

#include "net/transport.h"

namespace berth::net {

struct CurlTransportOptions {
  std::size_t max_response_bytes = 64u << 20;  // of a call; past it: `exhausted`
  std::size_t max_waiting_bytes = 4u << 20;    // of a stream that is read slower than it arrives
  long max_connections_per_host = 64;          // for calls; further ones queue. Streams: no bound
  Duration connect_timeout = std::chrono::seconds{30};
  // Not even a request without a body that may change something: such a one gets a connection of
  // its own. (Where sending it twice does no harm, as with Kubernetes' DELETE, kept ones are
  // faster.)
  bool never_twice = false;
  Duration dead_peer_timeout = std::chrono::seconds{45};  // a peer that acknowledges nothing
};

class CurlLoop;

class CurlTransport final : public Transport {
 public:
  explicit CurlTransport(CurlTransportOptions options = {});
  ~CurlTransport() override;

  Result<Response> call(const Context& context, const Request& request) override;
  Result<std::unique_ptr<Stream>> open(const Context& context, const Request& request) override;

 private:
  const CurlTransportOptions options_;
  std::shared_ptr<CurlLoop> calls_;
  std::shared_ptr<CurlLoop> streams_;
};

}  // namespace berth::net
