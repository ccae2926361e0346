// The parts of a text that refers to a load balancer. Plain values.
#pragma once

#include <string_view>

namespace berth::model {

// "ap-nanjing" and "lb-1" of "ap-nanjing:lb-1"; of a text without a region, the region is empty.
struct RegionAndId {
  std::string_view region{};
  std::string_view id{};  // or a name
};

inline RegionAndId split_region(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {.id = text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace berth::model
