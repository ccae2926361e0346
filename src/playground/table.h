// The overview as text in columns, for a terminal. Pure.
#pragma once

#include <limits>
#include <string>

#include "playground/overview.h"

namespace berth::playground {

// How many rows of a kind are shown; below them, a line says how many more there are.
struct RowLimits {
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  std::size_t pods = kAll;
  std::size_t pools = kAll;
  std::size_t services = kAll;
};

// The rows in columns under their headings, one line each. Empty when there is nothing.
std::string to_table(const Overview& overview, const RowLimits& limits = {});

struct Space {
  std::size_t lines = 0;
  std::size_t width = 0;  // a longer line takes more than one
};
// As much of it as fits there: Pods are left out first, then Services, then pools, but some of each
// are always shown.
std::string to_table(const Overview& overview, const Space& space);

// The lines that a terminal of that width needs for it.
std::size_t lines_of(std::string_view text, std::size_t width);

}  // namespace berth::playground
