// The examples of `examples/`, built into the binary.
#pragma once

#include <string_view>

namespace berth::cmd {

inline constexpr std::string_view kRooms =
#include "rooms.inc"
    ;

}  // namespace berth::cmd
