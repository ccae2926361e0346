// Flags about keys of clouds, which the controller and `berth manifests` have in common: what is
// read must be in the roles.
#pragma once

#include "app/config.h"

namespace CLI {
class App;
}

namespace berth::cmd {

void add_credential_options(CLI::App& command, app::Config& config);
// As the controller is to be started with the same.
std::vector<std::string> credential_arguments(const app::Config& config);

}  // namespace berth::cmd
