// The embedded API server behind HTTPS, on a loopback port, with certificates of its own.
//
// Owned by whoever runs a playground or a test. Handlers run on the threads of net::Server;
// webhooks are called through the Transport that is passed in. Thread-safe after `start`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/tasks.h"
#include "crypto/certificates.h"
#include "net/server.h"
#include "net/transport.h"
#include "sim/kube/server.h"

namespace berth::sim::kube {

// Where a service of the cluster is reached: "https://127.0.0.1:9443"; nullopt when nobody knows.
using ServiceResolver = std::function<std::optional<std::string>(
    std::string_view ns, std::string_view name, std::uint16_t port)>;

struct HttpsOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  // A request that waits for a webhook holds its thread, and the webhook's own requests need
  // others. So at most half of the threads may wait; requests beyond are refused with 429, and
  // clients try again.
  int handler_threads = 64;
  ServerOptions server{};  // `webhooks` is set by the front end
  // Both must outlive the front end. Without a transport, webhooks are unreachable.
  net::Transport* transport = nullptr;
  ServiceResolver resolve_service{};
};

class HttpsFrontend {
 public:
  static Result<std::unique_ptr<HttpsFrontend>> start(Tasks& tasks, HttpsOptions options);
  ~HttpsFrontend();

  Server& server();
  std::uint16_t port() const;
  std::string url() const;
  const std::string& ca_pem() const;

  // A client certificate of that user, signed by the server's authority.
  Result<crypto::KeyPair> issue_client(const std::string& user,
                                       const std::vector<std::string>& groups) const;
  // A kubeconfig for that user, with everything in it. `system:masters` may do everything.
  Result<std::string> kubeconfig(const std::string& user,
                                 const std::vector<std::string>& groups) const;

 private:
  class Impl;
  explicit HttpsFrontend(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::sim::kube
