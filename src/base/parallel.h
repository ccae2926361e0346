// Does many blocking things side by side, under a bound. The caller waits for all of them.
#pragma once

#include <cstddef>
#include <functional>

#include "base/context.h"

namespace berth {

// Calls `work(i)` for each i below `count`, at most `width` at a time, on tasks of their own. After
// a failure nothing new is begun; the first error is returned.
Result<> for_each_parallel(const Context& context, std::size_t count, std::size_t width,
                           const std::function<Result<>(const Context&, std::size_t i)>& work);

}  // namespace berth
