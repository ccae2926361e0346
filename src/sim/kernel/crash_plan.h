// When a crashable process dies: at one write, at random writes, or never.
//
// Every write can be crashed twice: before its effect, or after it with the reply lost.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>

#include "base/random.h"

namespace berth::sim {

enum class CrashSide : std::uint8_t { before, after };

struct NoCrash {};

// The write with this index, counted from 0 over all crashable processes.
struct CrashAt {
  std::uint64_t write_index = 0;
  CrashSide side = CrashSide::before;
};

struct CrashRandomly {
  double probability = 0;  // per write
  // A world can only settle if the crashes end.
  std::uint64_t max_crashes = std::numeric_limits<std::uint64_t>::max();
};

using CrashPlan = std::variant<NoCrash, CrashAt, CrashRandomly>;

// "no crash", "crash after write 7", "crash with 0.05 a write".
std::string to_string(const CrashPlan& plan);

// Whether this write crashes, and on which side. Draws from `random` for CrashRandomly alone, so
// the other plans leave the rest of the run as it was.
std::optional<CrashSide> crash_of(const CrashPlan& plan, std::uint64_t write_index,
                                  std::uint64_t crashes_so_far, Random& random);

}  // namespace berth::sim
