#include "engine/gather.h"

#include <algorithm>

namespace berth::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Parts of what a call takes. The first wish waits for so much at the most, however many come; for
// what is being written, and for one that may come or not; again after each that comes.
constexpr int kMost = 4;
constexpr int kForWritten = 10;
constexpr int kForNext = 25;
constexpr Duration kLongestCall = seconds{1};    // what takes longer is no reason to wait longer
constexpr Duration kWorthIt = milliseconds{50};  // where calls are quicker, nobody waits
constexpr Duration kLikelyFor = seconds{1};      // then it is no sign of a burst any more

}  // namespace

void Expected::add(const WishKey& key, Instant now, Duration lasts) {
  (void)any(now);  // forgets what is over
  const Instant until = now + lasts;
  until_[key] = until;
  order_.emplace_back(until, key);
}

bool Expected::any(Instant now) {
  while (!order_.empty()) {
    const auto& [until, key] = order_.front();
    const auto it = until_.find(key);
    const bool counts = it != until_.end() && it->second == until;
    if (counts && until > now) return true;
    if (counts) until_.erase(it);
    order_.pop_front();
  }
  return false;
}

void Gather::expect(const WishKey& key, Notice notice, Instant now, Duration call) {
  if (call < kWorthIt) return;
  if (notice == Notice::written) {
    written_.add(key, now, std::min(call, kLongestCall) / kForWritten);
  } else {
    likely_.add(key, now, kLikelyFor);
  }
}

Instant Gather::came(const WishKey& key, Instant now, Duration call) {
  likely_.erase(key);
  written_.erase(key);
  if (call < kWorthIt) return now;
  call = std::min(call, kLongestCall);
  if (since_ == kNever) since_ = now;
  const Instant end = since_ + call / kMost;
  if (written_.any(now)) return std::min(end, now + call / kForWritten);
  const bool more = likely_.any(now);
  is_burst_ = is_burst_ || more;
  // All that were promised are there; whatever else may come had its time, too.
  if (is_burst_ && !more) return since_ + call / kForNext;
  return std::min(end, now + call / kForNext);
}

}  // namespace berth::engine
