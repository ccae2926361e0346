// What shall go wrong, on demand: refusals, delays and stale lists. Owned by the server;
// thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/time.h"
#include "sim/kube/api_error.h"

namespace berth::sim::kube {

struct RequestInfo;

// Which requests: an empty part matches all.
struct FaultTarget {
  std::string verb{};      // "create", "patch", "watch", ...
  std::string resource{};  // plural, with "/status" for a subresource
};

class Faults {
 public:
  // The next `count` matching requests are refused with this, without effect.
  void refuse_next(FaultTarget target, ApiError error, int count = 1);
  // The next `count` matching requests take effect, and the answer comes this much later.
  void delay_next(FaultTarget target, Duration delay, int count = 1);
  // Lists with resourceVersion=0 show the state of this version or what is left of it; nullopt ends
  // it.
  void serve_stale_lists(std::optional<std::uint64_t> version);
  void clear();

  // For the server.
  std::optional<ApiError> take_refusal(const RequestInfo& request);
  Duration take_delay(const RequestInfo& request);
  std::optional<std::uint64_t> stale_version() const;

 private:
  struct Plan {
    FaultTarget target;
    int left = 0;
    ApiError error{};
    Duration delay{};
  };
  static Plan* take(std::deque<Plan>& plans, const RequestInfo& request);

  mutable Mutex mu_;
  std::deque<Plan> refusals_ GUARDED_BY(mu_);
  std::deque<Plan> delays_ GUARDED_BY(mu_);
  std::optional<std::uint64_t> stale_version_ GUARDED_BY(mu_);
};

}  // namespace berth::sim::kube
