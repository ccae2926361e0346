#include "base/spelling.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace berth {
namespace {

// Words that are further apart mean different things.
constexpr std::size_t kMaxSlips = 3;

// How many letters have to be put in, taken out or changed.
std::size_t slips_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known) {
  std::string_view nearest;
  std::size_t slips = kMaxSlips + 1;
  for (const std::string_view one : known) {
    const std::size_t apart = slips_between(word, one);
    if (apart >= slips) continue;
    slips = apart;
    nearest = one;
  }
  return nearest;
}

}  // namespace berth
