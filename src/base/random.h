// Pseudo-random numbers from a seed (xoshiro256**). Passed in, never global. Not thread-safe: each
// owner forks its own. Not for keys: `crypto` makes those.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace berth {

class Random {
 public:
  explicit Random(std::uint64_t seed);
  // A generator seeded by the operating system.
  static Random from_entropy();

  std::uint64_t next();
  // Evenly in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Evenly in [0, 1).
  double unit();
  bool chance(double probability) { return unit() < probability; }
  // `span` plus up to `fraction` of it.
  Duration jittered(Duration span, double fraction);
  // An independent generator.
  Random fork() { return Random(next()); }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace berth
