// The webhooks of the parity cases: one HTTPS server on loopback whose answers the cases script.
//
// Owned by the test. Thread-safe: cases run at the same time, each under paths of its own.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/tasks.h"
#include "net/server.h"
#include "wire/value.h"

namespace berth::parity {

class WebhookHost {
 public:
  static Result<std::unique_ptr<WebhookHost>> start(Tasks& tasks);
  ~WebhookHost();

  const std::string& url() const { return url_; }
  const std::string& ca_pem() const { return ca_pem_; }

  // What the hook at this path answers from now on:
  //   response: the AdmissionReview's response; `uid` is the request's unless given, a list under
  //             `patch` becomes a JSONPatch. Without one: allowed.
  //   review:   members of the AdmissionReview that replace the usual ones
  //   raw:      this text is the whole body
  //   status:   of HTTP; 200 unless given
  //   type:     the content type; application/json unless given
  //   after:    seconds until the answer
  void script(const std::string& path, wire::Value answer);
  // What the hook was sent since it was last asked for: {query, review}.
  std::vector<wire::Value> take_calls(const std::string& path);
  // The same for all hooks whose path starts so.
  void forget_calls(std::string_view prefix);

 private:
  explicit WebhookHost(Tasks& tasks) : tasks_(tasks) {}
  Result<> listen();
  net::Reply handle(const net::Request& request, std::stop_token stop);

  struct Hook {
    wire::Value answer{};
    std::vector<wire::Value> calls{};
  };

  Tasks& tasks_;
  std::string url_;
  std::string ca_pem_;
  Mutex mu_;
  std::map<std::string, Hook> hooks_ GUARDED_BY(mu_);
  std::unique_ptr<net::Server> http_;
};

}  // namespace berth::parity
