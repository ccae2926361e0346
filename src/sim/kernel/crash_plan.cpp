#include "sim/kernel/crash_plan.h"

#include <fmt/format.h>

namespace berth::sim {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

}  // namespace

std::string to_string(const CrashPlan& plan) {
  return std::visit(Overloaded{[](const NoCrash&) { return std::string("no crash"); },
                               [](const CrashAt& at) {
                                 return fmt::format(
                                     "crash {} write {}",
                                     at.side == CrashSide::before ? "before" : "after",
                                     at.write_index);
                               },
                               [](const CrashRandomly& r) {
                                 return fmt::format("crash with {} a write", r.probability);
                               }},
                    plan);
}

std::optional<CrashSide> crash_of(const CrashPlan& plan, std::uint64_t write_index,
                                  std::uint64_t crashes_so_far, Random& random) {
  if (const auto* at = std::get_if<CrashAt>(&plan)) {
    if (write_index != at->write_index) return std::nullopt;
    return at->side;
  }
  if (const auto* randomly = std::get_if<CrashRandomly>(&plan)) {
    if (crashes_so_far >= randomly->max_crashes || !random.chance(randomly->probability)) {
      return std::nullopt;
    }
    return random.below(2) == 0 ? CrashSide::before : CrashSide::after;
  }
  return std::nullopt;
}

}  // namespace berth::sim
