// A recording: what a version of Berth left on a cluster, as files that people can read. It is put
// on a fresh control plane, as if that version had just been stopped.
//
// A folder of YAML files, one for each kind, and `recording.yaml` with the version and the moment.
// What only the server can write is made new when it is played: uids, versions and times of
// creation; whatever names them follows. Times and tokens, which say when they were made, move
// along with the moment. Secrets are not recorded: keys and certificates are made anew.
#pragma once

#include <filesystem>
#include <vector>

#include "berth_cluster.h"

namespace berth {

// All folders with recordings; the oldest name first.
std::vector<std::filesystem::path> recordings();

// Of one namespace, and of what is not in any. Nothing of Berth may run.
Result<> record(BerthCluster& cluster, const std::string& ns, const std::filesystem::path& folder,
                const std::string& version);

// On a control plane whose workloads have not been started yet (`with_workloads`): nobody acts on
// what is half there.
Result<> play(BerthCluster& cluster, const std::filesystem::path& folder);

}  // namespace berth
