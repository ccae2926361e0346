#include "edge/fd_budget.h"

#include <sys/resource.h>

namespace berth::edge {

std::size_t default_fd_budget() {
  // What every Linux process has at the least.
  constexpr rlim_t kFallback = 1024;
  // More than one process serves; also what stands for "no limit".
  constexpr rlim_t kMost = 1u << 20;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = kFallback;
  const rlim_t usable = limit.rlim_cur < kMost ? limit.rlim_cur : kMost;
  return static_cast<std::size_t>(usable - usable / 4);
}

}  // namespace berth::edge
