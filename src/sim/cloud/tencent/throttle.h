// Rate limits: so many calls of one action in any second, for one account in one region. Owned by
// `Cloud` under its lock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>

#include "base/time.h"
#include "sim/cloud/tencent/api_error.h"
#include "sim/cloud/tencent/settings.h"

namespace berth::sim::tencent {

class Throttle {
 public:
  // A refused call does not count.
  Outcome<> admit(const Limits& limits, const std::string& account, const std::string& region,
                  const std::string& action, WallTime now);

 private:
  std::map<std::tuple<std::string, std::string, std::string>, std::deque<WallTime>> recent_;
};

}  // namespace berth::sim::tencent
