// What must be told to a running HAProxy so that one configuration becomes another. Pure.
#pragma once

#include <string>
#include <vector>

#include "edge/haproxy/config.h"

namespace berth::edge::haproxy {

// With more to say, a reload is faster.
inline constexpr std::size_t kMaxCommands = 4000;

struct Changes {
  bool reload = false;  // the structure differs, or there is too much to say
  // Otherwise: each must be answered by nothing, or by what `is_fine` knows.
  std::vector<std::string> commands{};
  // "backend/server" that nobody is led to any more: what goes there ends, also in workers of
  // before.
  std::vector<std::string> gone{};

  bool empty() const { return !reload && commands.empty() && gone.empty(); }
};

Changes changes_between(const Config& before, const Config& after);

// Whether the answers to these commands say that all was done.
bool is_fine(std::string_view answers);

}  // namespace berth::edge::haproxy
