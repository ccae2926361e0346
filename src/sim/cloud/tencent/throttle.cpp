#include "sim/cloud/tencent/throttle.h"

namespace berth::sim::tencent {

Outcome<> Throttle::admit(const Limits& limits, const std::string& account,
                          const std::string& region, const std::string& action, WallTime now) {
  const auto own = limits.calls_per_second_of.find(action);
  const std::uint32_t most =
      own == limits.calls_per_second_of.end() ? limits.calls_per_second : own->second;
  if (most == 0) return {};
  std::deque<WallTime>& recent = recent_[{account, region, action}];
  while (!recent.empty() && recent.front() + std::chrono::seconds{1} <= now) recent.pop_front();
  if (recent.size() >= most) {
    return refuse("RequestLimitExceeded",
                  "Your current request times equals to `{}` in a second, which exceeds the "
                  "frequency limit `{}` for a second. Please reduce the frequency of calls.",
                  recent.size() + 1, most);
  }
  recent.push_back(now);
  return {};
}

}  // namespace berth::sim::tencent
