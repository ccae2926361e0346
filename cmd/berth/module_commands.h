// The subcommands that modules bring (module/command.h), on the command line.
#pragma once

#include <vector>

#include "cluster.h"
#include "module/command.h"

namespace berth::cmd {

// The way to the cluster that was named; tests have another one.
using WithCluster = std::function<Result<>(const ClusterFlags& flags, const ClusterWork& work)>;

void add_module_commands(CLI::App& root, Run& run, std::vector<module::Command> commands,
                         WithCluster with = with_cluster);

}  // namespace berth::cmd
