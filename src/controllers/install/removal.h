// The mark of a removal that is under way, which `berth uninstall` sets first and every controller
// heeds, wherever it runs: one that would put back what is being removed never lets it end.
//
// An annotation of the CRD of LoadBalancers. Only an administrator writes CRDs; every controller
// watches them anyway; this one is ours alone, and it goes last of all. Deleting the Deployment
// would not do: a controller may run outside of the cluster.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kube/client/client.h"

namespace berth::controllers::install {

inline constexpr std::string_view kRemovalAnnotation = "berth.dev/removal";

enum class Removal : std::uint8_t {
  none,
  draining,  // install nothing, give no ports; take listeners off as pools go
  leaving,   // end
};

// The name of the CRD that carries it.
std::string marked_crd();

// Empty is none. A text that we do not know was written by a version that we do not know, which
// removes us too.
Removal parse_removal(std::string_view text);
std::string_view to_string(Removal removal);

// None when there is no such CRD.
Result<Removal> read_removal(const Context& context, kube::Client& client);
// False: there is no such CRD, and so nobody to tell.
Result<bool> mark_removal(const Context& context, kube::Client& client, Removal removal);

// What a controller says that meets it, and what its administrator can do.
Error being_removed();

}  // namespace berth::controllers::install
