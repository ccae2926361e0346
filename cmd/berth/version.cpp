// `berth version`

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "command.h"
#include "wire/value.h"

namespace berth::cmd {
namespace {

constexpr const char* kCommit =
#include "commit.inc"
    ;

}  // namespace

void add_version(CLI::App& root, Run& run) {
  CLI::App* command = root.add_subcommand("version", "Print version and commit.");
  const auto output = std::make_shared<Output>(Output::text);
  add_output_option(*command, *output);
  set_example(*command, "berth version -o json");
  command->callback([&run, output] {
    run = [output]() -> Result<> {
      if (*output == Output::json) {
        std::puts(
            wire::to_json(wire::Object{{"version", BERTH_VERSION}, {"commit", kCommit}}).c_str());
      } else {
        std::printf("berth %s (commit %s)\n", BERTH_VERSION, kCommit);
      }
      return {};
    };
  });
}

}  // namespace berth::cmd
