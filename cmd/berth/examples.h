// The examples of `examples/`, built into the binary.
#pragma once

#include <string_view>

namespace berth::cmd {

inline constexpr std::string_view kFirstRoom =
#include "first_room.inc"
    ;

}  // namespace berth::cmd
