// The order in which people count: room-2 before room-10. Pure.
#pragma once

#include <string_view>

namespace berth::playground {

// Total: names that count alike (room-1, room-01) are told apart as text.
bool natural_less(std::string_view a, std::string_view b);

struct NaturalOrder {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return natural_less(a, b); }
};

}  // namespace berth::playground
