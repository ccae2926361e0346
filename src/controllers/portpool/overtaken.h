// A write of ours that found its object changed or gone: nothing is wrong, it is looked at again.
#pragma once

#include "base/result.h"
#include "base/time.h"

namespace berth::controllers::portpool {

inline bool was_overtaken(const Error& error) {
  return error.code == Code::precondition || error.code == Code::not_found ||
         error.code == Code::conflict;
}

// What overtook us may have come and gone before we looked, or concern us so little that no change
// brings the key back. The caches have caught up by then.
inline constexpr Duration kCatchUp = std::chrono::seconds{1};

}  // namespace berth::controllers::portpool
