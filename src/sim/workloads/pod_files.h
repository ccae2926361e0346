// What a container finds around it: its environment, and the files that the downward API puts into
// its volumes. And the few commands that can be run there. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "wire/value.h"

namespace berth::workloads {

using Environment = std::vector<std::pair<std::string, std::string>>;
using Files = std::map<std::string, std::string>;  // by absolute path

// Of that container; empty when the Pod has none of that name. `$(NAME)` refers to variables
// before it. References to ConfigMaps and Secrets are left out.
Environment environment_of(const wire::Value& pod, std::string_view container);
// As they are for this state of the Pod.
Files files_of(const wire::Value& pod, std::string_view container);

// "metadata.annotations['key']", "metadata.labels", "status.podIP", ...; empty when unknown.
std::string field_of(const wire::Value& pod, std::string_view path);

struct CommandOutput {
  int exit_code = 0;
  std::string out{};
  std::string err{};
};
// cat, ls, env, printenv, echo, hostname, true, false, and `sh -c` of one of them without
// redirections; everything else is not found, as in an image that has only a game server in it.
CommandOutput run_in_container(const std::vector<std::string>& command,
                               const Environment& environment, const Files& files);

}  // namespace berth::workloads
