// The examples of `examples/`, built into the binary.
#pragma once

#include <string_view>

namespace berth::cmd {

inline constexpr std::string_view kRooms =
#include "rooms.inc"
    ;
inline constexpr std::string_view kRoomsOnTencent =
#include "rooms-on-tencent.inc"
    ;

}  // namespace berth::cmd
