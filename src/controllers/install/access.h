// What the controller may do at the API server, and nothing more: its roles. Pure functions.
//
// Most of it is for the whole cluster, because pools, Pods and load balancers are. The lease, the
// certificate and the keys are in our namespace alone. Objects that we install are named where the
// API lets us: `create`, `list` and `watch` know no names.
#pragma once

#include <string>

#include "module/declaration.h"
#include "wire/value.h"

namespace berth::controllers::install {

// The rules of the ClusterRole for these modules; with or without the rights to install the guard.
wire::Array cluster_rules(const module::Declarations& modules, bool guard = true);
// The rules of the Role in our own namespace.
wire::Array namespace_rules(const module::Declarations& modules);

}  // namespace berth::controllers::install
