#include "kube/client/retry.h"

namespace berth::kube {

std::optional<Duration> pause_before_retry(const Attempt& attempt, int max_retries) {
  if (attempt.made_before >= max_retries) return std::nullopt;
  if (attempt.status == 0) {
    const bool lost = attempt.code == Code::unavailable;
    const bool may = attempt.is_read && lost && attempt.made_before < kMaxReconnects;
    return may ? std::optional(kReconnectPause) : std::nullopt;
  }
  if (!attempt.retry_after) return std::nullopt;
  // The same question would get the same answer: the caller has to ask for another version.
  if (attempt.code == Code::too_new) return std::nullopt;
  // Both say that the request was turned away at the door. Other 5xx of a write leave its fate
  // open.
  const bool turned_away = attempt.status == 429 || attempt.status == 503;
  const bool may = turned_away || (attempt.is_read && attempt.status >= 500);
  return may ? attempt.retry_after : std::nullopt;
}

}  // namespace berth::kube
