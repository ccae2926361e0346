// Every call of the driver of Tencent, with all that it ever sends, as the simulated cloud saw and
// answered it.
#pragma once

#include <vector>

#include "wire/value.h"

namespace berth::testing {

// {"action": ..., "request": {...}, "response": {...}} of each, in order.
std::vector<wire::Object> calls_of_the_driver();

}  // namespace berth::testing
