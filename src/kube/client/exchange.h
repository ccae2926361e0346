// One call to the API server as it goes over the wire: who we are, retries, warnings, metrics.
// Knows HTTP, not objects. Thread-safe; owned by the Client.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "kube/client/client.h"
#include "kube/client/warnings.h"

namespace berth::kube {

inline constexpr std::string_view kJson = "application/json";

struct Call {
  std::string method = "GET";
  std::string target{};  // path and query
  std::string accept{kJson};
  std::string content_type{};
  std::string body{};
};

class Exchange {
 public:
  Exchange(net::Transport& transport, std::shared_ptr<const ClusterConfig> cluster,
           ClientOptions options);

  // The final answer, whatever its status. An error says that there was none.
  Result<net::Response> call(const Context& context, const Call& call);
  // One attempt, and a second one after a 401; pauses are the caller's business.
  Result<std::unique_ptr<net::Stream>> open(const Context& context, const Call& call);

 private:
  Result<Identity> identity(const Context& context) const;
  net::Request request(const Call& call, const Identity& identity) const;
  Result<net::Response> attempt(const Context& context, const Call& call, bool& may_log_in_again);
  void count(const std::string& method, int status, Duration took);

  net::Transport& transport_;
  const std::shared_ptr<const ClusterConfig> cluster_;
  const ClientOptions options_;
  const std::string host_;
  WarningLog warnings_;

  // Looked up once: by its labels, a series costs more than a short call does on our side.
  struct Series {
    metrics::Counter& requests;
    metrics::Histogram& seconds;
  };
  Mutex mu_;
  std::map<std::pair<std::string, int>, Series> series_ GUARDED_BY(mu_);  // by method and status
};

}  // namespace berth::kube
