// The simulated cloud behind HTTPS, on a loopback port, with certificates of its own.
//
// Owned by whoever runs a test or `berth sim tencent`. Handlers run on the threads of net::Server;
// thread-safe after `start`.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/tasks.h"
#include "net/server.h"
#include "sim/cloud/tencent/cloud.h"

namespace berth::sim::tencent {

struct HttpsOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  Duration round_trip{};   // each answer comes this much later
  // A lost answer: silence for so long, then 504 without a body.
  Duration lost_after = std::chrono::seconds{5};
  // After each call, before its answer: whoever hears of a change finds that it was followed.
  std::function<void(std::stop_token stop)> before_answer{};
};

class HttpsFrontend {
 public:
  // `tasks` and the cloud outlive it.
  static Result<std::unique_ptr<HttpsFrontend>> start(Tasks& tasks, Cloud& cloud,
                                                      HttpsOptions options);
  std::string url() const;   // "https://127.0.0.1:8443"
  std::string host() const;  // "127.0.0.1:8443": what an SDK calls the endpoint
  const std::string& ca_pem() const { return ca_pem_; }

 private:
  HttpsFrontend(Tasks& tasks, Cloud& cloud, HttpsOptions options)
      : tasks_(tasks), cloud_(cloud), options_(std::move(options)) {}
  Result<> listen();
  net::Reply handle(const net::Request& request, std::stop_token stop);

  Tasks& tasks_;
  Cloud& cloud_;
  const HttpsOptions options_;
  std::string ca_pem_;
  std::unique_ptr<net::Server> server_;
};

}  // namespace berth::sim::tencent
