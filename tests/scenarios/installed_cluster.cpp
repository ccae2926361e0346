#include "installed_cluster.h"

#include <cstdlib>

#include <fmt/format.h>

#include "sim/world/world.h"

namespace berth::scenario {
namespace {

// No life of a sweep has it.
constexpr std::uint64_t kSeed = 0;
// Longer than clocks of replicas differ, so that nothing is from the future; shorter than a replica
// that starts takes paths of webhooks for old.
constexpr Duration kAgo = std::chrono::minutes{30};
// Nothing but leases has been written for this long.
constexpr Duration kQuiet = std::chrono::seconds{10};

std::shared_ptr<const sim::kube::Backup> install() {
  world::WorldOptions options;
  options.cluster.kernel.wall_start -= kAgo;
  options.cluster.tracks_fields = false;
  world::World world(kSeed, std::move(options));
  Result<> ran = world.cluster().run_until([&] { return world.leaders() > 0; });
  if (ran) ran = world.cluster().settle(kQuiet);
  if (!ran) {
    fmt::print(stderr, "Berth cannot be installed: {}\n", ran.error().to_string());
    std::abort();
  }
  world.stop(0);
  return world.cluster().server().backup();
}

}  // namespace

std::shared_ptr<const sim::kube::Backup> installed_cluster() {
  static const std::shared_ptr<const sim::kube::Backup> installed = install();
  return installed;
}

}  // namespace berth::scenario
