// Sends AdmissionReviews to the handler of their path and answers as kube-apiserver wants it.
// Thread-safe after set-up.
//
// With a guard, paths end with a secret segment; what comes without it is not even read.
//
// A review that cannot be read is answered with 400 and a text that says what is wrong with it; an
// error of a handler is a refusal that the person who sent the request sees. The handler's deadline
// lies below the webhook's, so that our answer, or the undoing of what we wrote, still counts.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/context.h"
#include "kube/admission/path_guard.h"
#include "kube/admission/review.h"
#include "metrics/registry.h"
#include "net/server.h"

namespace berth::kube {

using AdmissionHandler =
    std::function<Result<AdmissionAnswer>(const Context& context, const AdmissionRequest& request)>;

class AdmissionRouter {
 public:
  // Without a guard everybody is let in.
  AdmissionRouter(Tasks& tasks, metrics::Registry& registry, const PathGuard* guard = nullptr);

  // Before the server starts.
  void add(std::string path, AdmissionHandler handler);

  // For one who has not proved to be an API server.
  net::Reply turn_away();
  net::Reply handle(const net::Request& request, std::stop_token stop);

 private:
  struct Route {
    AdmissionHandler handler;
    metrics::Histogram* seconds;
    std::string path;
    metrics::Counter* answered;  // with 200, as nearly all are
  };
  // Null: nothing is served there, or not to the one who asks.
  const Route* route_to(std::string_view path) const;
  net::Reply answer(const Route& route, const net::Request& request, std::stop_token stop);
  metrics::Counter& requests(const std::string& path, int code);

  Tasks& tasks_;
  metrics::Registry& registry_;
  const PathGuard* const guard_;
  metrics::Counter& strangers_;
  std::map<std::string, Route, std::less<>> routes_;
};

}  // namespace berth::kube
