// The seam through which the API server calls admission webhooks: an in-process call on fibers in
// simulation, `net::Transport` over HTTPS.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "net/http.h"

namespace berth::sim::kube {

// `clientConfig` of a webhook: a URL, or a service in the cluster.
struct WebhookTarget {
  std::string url{};
  std::string service_namespace{};
  std::string service_name{};
  std::string service_path{};
  std::uint16_t service_port = 443;
  std::string ca_pem{};
};

class WebhookCaller {
 public:
  virtual ~WebhookCaller() = default;
  // Posts the review and waits at most `timeout`. Called without a lock held, from any task that is
  // in `Server::handle`. The code `throttled` says that too many are waiting: the client of the API
  // server hears it (429), whatever the hook's failurePolicy says.
  virtual Result<net::Response> call(const WebhookTarget& target, const std::string& body,
                                     Duration timeout) = 0;
};

}  // namespace berth::sim::kube
