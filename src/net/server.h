// An HTTP/1.1 server with TLS, behind a small interface that shows nothing of Beast and Asio.
//
// I/O runs on the server's own threads; the handler runs on a bounded set of handler threads apart
// from them, so a slow handler never stops the accepting of connections or the health checks. Owned
// by the composition root; `stop()` (or the destructor) ends accepting, gives running requests
// `drain` to finish, then closes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/context.h"
#include "net/byte_pipe.h"
#include "net/http.h"

namespace berth::net {

// Who is on the other side, as far as TLS proved it.
struct Peer {
  std::string address{};
  std::string certificate_common_name{};
  std::vector<std::string> certificate_organizations{};
};

// With this status the conversation leaves HTTP: `Reply::body` is sent as it is behind the head,
// and the connection ends with it (`net/websocket.h`).
inline constexpr int kSwitchingProtocols = 101;

struct Reply {
  int status = 200;
  Headers headers{};
  std::string body{};
  // When set, the body is chunked and comes from this pipe until it closes; `body` is not used.
  std::shared_ptr<BytePipe> stream{};
};

// The request's url is path and query. Called from several handler threads at once. The stop token
// fires when the client goes away or the server's drain time is over.
using Handler =
    std::function<Reply(const Request& request, const Peer& peer, std::stop_token stop)>;

struct ServerCertificate {
  std::string chain_pem;
  Secret key_pem;
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one; see Server::port()
  // Other servers of the same user may listen on the same port, if they say so too; the kernel
  // spreads connections over them.
  bool share_port = false;
  // Without a certificate the server speaks plain HTTP.
  std::shared_ptr<const ServerCertificate> certificate{};
  std::string client_ca_pem{};  // ask for client certificates and accept those signed by it
  int io_threads = 1;
  int handler_threads = 8;
  std::size_t max_queued_requests = 1024;    // past it: 503 with Retry-After
  std::size_t max_connections = 4096;        // past it: the one that is idle for longest goes
  std::size_t max_header_bytes = 64u << 10;  // past it: 431
  std::size_t max_body_bytes = 7u << 20;     // past it: 413. Two objects of 3 MiB plus the envelope
  // Of all requests that arrive or are being answered. Half of it is shared out: a request that
  // holds no more than that half over `max_connections` never waits for others. The other half goes
  // to larger ones. When it is used up, the unfinished request that began first gives way (503); a
  // request waits while the bytes are with others that are being answered.
  std::size_t max_bytes_in_flight = 256u << 20;
  Duration header_timeout = std::chrono::seconds{32};
  Duration body_timeout = std::chrono::seconds{60};
  Duration idle_timeout = std::chrono::seconds{90};
  Duration drain = std::chrono::seconds{10};
};

struct ServerStatistics {
  std::uint64_t accepted = 0;  // connections since the start
  std::uint64_t refused = 0;   // connections closed at once: all others were being answered
  std::uint64_t evicted = 0;   // connections without a whole request, closed to make room
  std::uint64_t requests = 0;  // whole requests that arrived
  std::uint64_t shed = 0;      // unfinished requests that got 503: too many bytes were in flight
  std::size_t open = 0;        // connections now
  std::size_t most_open = 0;   // since the start
  std::size_t waiting = 0;     // requests that wait for bytes that others hold
  std::size_t bytes_in_flight = 0;       // of requests, now
  std::size_t most_bytes_in_flight = 0;  // since the start
};

class Server {
 public:
  // Fails when the address cannot be bound or the certificate is not usable.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, Handler handler);
  ~Server();

  std::uint16_t port() const;
  // Connections accepted from now on use the new certificate; open ones go on.
  Result<> set_certificate(const ServerCertificate& certificate);
  ServerStatistics statistics() const;
  // Returns when every handler has returned and every connection is closed. Not from a handler.
  void stop();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::net
