// Flags about our own load balancer, which the controller and `berth manifests` have in common.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace berth::cmd {

CLI::Option* add_edge_address_option(CLI::App& command, std::vector<std::string>& addresses);

// "rooms=192.0.2.1,2001:db8::1": the addresses of each id.
Result<std::map<std::string, std::vector<std::string>>> edge_addresses(
    const std::vector<std::string>& flags);

}  // namespace berth::cmd
