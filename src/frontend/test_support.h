// Owners and what they want, for tests. Free of GTest.
#pragma once

#include <string>
#include <utility>

#include "claims/test_support.h"
#include "frontend/owner.h"
#include "frontend/wants.h"

namespace berth::frontend::testing {

using claims::testing::kNow;

// A kind that nobody has built in.
inline const kube::ResourceType kStage{"example.dev", "v1", "stages", "Stage"};
inline const kube::ResourceType kArena{"example.dev", "v1", "arenas", "Arena", false};

inline Owner stage(const std::string& name, WallTime created = kNow) {
  return {.type = kStage,
          .key = {"games", name},
          .uid = "uid-of-" + name,
          .created = created,
          .listeners_ns = "games"};
}

inline WantedGrant grant_on(const std::string& lb, const Owner& owner, model::PortRange ports,
                            std::string part = "item1") {
  return {.lb = {model::Provider::edge, "", lb},
          .grant = {
              .ports = ports, .owner = grant_owner(owner), .item = std::move(part), .since = kNow}};
}

}  // namespace berth::frontend::testing
