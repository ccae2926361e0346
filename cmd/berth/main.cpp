// The one binary: parses the command line and runs the command that was named.

#include <CLI/CLI.hpp>
#include <cstdio>

#include "app/modules.h"
#include "command.h"
#include "module_commands.h"

int main(int argc, char** argv) {
  using namespace berth::cmd;
  CLI::App root{"Berth gives every Pod its own address.", "berth"};
  root.require_subcommand(1);
  set_example(root, "berth playground");
  Run run;
  add_playground(root, run);
  add_demo(root, run);
  add_controller(root, run);
  add_crds(root, run);
  add_manifests(root, run);
  add_uninstall(root, run);
  add_status(root, run);
  add_explain(root, run);
  add_plan(root, run);
  add_sim(root, run);
  add_version(root, run);
  add_module_commands(root, run, berth::module::commands_of(berth::app::all_declarations()));
  if (const auto unknown = unknown_command(root, argc, argv)) {
    std::fprintf(stderr, "berth: %s\n", unknown->c_str());
    return kExitUsage;
  }
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return root.exit(error) == 0 ? 0 : kExitUsage;
  }
  return report(run());
}
