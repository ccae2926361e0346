// How the load balancers of a house are called where its world has another provider than the edge.
#pragma once

#include <string>

#include "sim/world/world.h"

namespace berth::scenario {

// YAML, or one reference, that names "edge:west": on Tencent's load balancers it is "lb-west".
inline std::string lb_texts(const world::World& world, std::string text) {
  if (world.defaults().provider == model::Provider::edge) return text;
  constexpr std::string_view kEdge = "edge:";
  for (std::size_t at = text.find(kEdge); at != std::string::npos; at = text.find(kEdge, at))
    text.replace(at, kEdge.size(), "lb-");
  return text;
}

}  // namespace berth::scenario
