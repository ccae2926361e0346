#include "modules.h"

#include <CLI/CLI.hpp>

#include "app/modules.h"

namespace berth::cmd {

void add_without_option(CLI::App& command, std::vector<std::string>& names) {
  std::string known;
  for (const module::Declaration& one : app::all_declarations())
    if (!one.is_core)
      known += fmt::format("{}{} ({})", known.empty() ? "" : "; ", one.name, one.about);
  command.add_option("--without", names,
                     fmt::format("A module to leave out, with its kinds, webhooks, watches and "
                                 "rights; may be repeated. There are: {}.",
                                 known));
}

}  // namespace berth::cmd
