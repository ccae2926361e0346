// Lets virtual time pass. For tests that have nothing to wait for but time.
#pragma once

#include "sim/kernel/kernel.h"

namespace berth::sim {

// Everything runs for so long, also when nobody has anything to do in it.
inline Result<> run_for(Kernel& kernel, Duration span) {
  const Instant until = kernel.now() + span;
  const auto sleeper = kernel.world().spawn("sleep", [&](std::stop_token stop) {
    (void)sleep_for(kernel.world(), span, std::move(stop));
  });
  return kernel.run_until([&] { return kernel.now() >= until; });
}

}  // namespace berth::sim
