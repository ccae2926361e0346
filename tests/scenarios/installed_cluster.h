// A cluster on which Berth was installed some time ago, and runs no more: what most random lives
// begin with.
//
// Made once in a process, by a replica that really installs everything. It leaves in order, so the
// lease is free. Nobody owns a field of its objects.
#pragma once

#include <memory>

#include "sim/kube/server.h"

namespace berth::scenario {

std::shared_ptr<const sim::kube::Backup> installed_cluster();

}  // namespace berth::scenario
