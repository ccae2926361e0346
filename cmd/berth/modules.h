// `--without NAME`: modules that a command leaves out.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace berth::cmd {

void add_without_option(CLI::App& command, std::vector<std::string>& names);

}  // namespace berth::cmd
