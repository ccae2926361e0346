// Who calls: the TC3-HMAC-SHA256 signature of a request is computed anew with the key that it
// names, and compared. Pure.
#pragma once

#include <map>
#include <string>

#include "base/time.h"
#include "net/http.h"
#include "sim/cloud/tencent/api_error.h"
#include "sim/cloud/tencent/state.h"

namespace berth::sim::tencent {

struct Caller {
  const AccessKey* key = nullptr;
  std::string service{};  // "clb", "vpc", ...: from the scope of the signature
};

// The result points into `keys`.
Outcome<Caller> authenticate(const net::Request& request,
                             const std::map<std::string, AccessKey>& keys, WallTime now,
                             Duration max_skew);

}  // namespace berth::sim::tencent
