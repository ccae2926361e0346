// `berth crds`

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "app/modules.h"
#include "command.h"
#include "wire/yaml.h"

namespace berth::cmd {
namespace {

Result<> print_crds(Output output) {
  wire::Array list;
  for (const module::Kind& kind : module::kinds_of(app::all_declarations())) {
    if (output == Output::json) {
      list.push_back(api::crd_of(*kind.info));
    } else {
      std::printf("---\n%s", wire::to_yaml(api::crd_of(*kind.info)).c_str());
    }
  }
  if (output == Output::json) {
    const wire::Object all{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(list)}};
    std::puts(wire::to_pretty_json(all).c_str());
  }
  return {};
}

}  // namespace

void add_crds(CLI::App& root, Run& run) {
  CLI::App* command =
      root.add_subcommand("crds", "Print the CustomResourceDefinitions of our kinds.");
  const auto output = std::make_shared<Output>(Output::text);
  add_output_option(*command, *output);
  set_example(*command, "berth crds | kubectl apply -f -");
  command->callback([&run, output] { run = [output] { return print_crds(*output); }; });
}

}  // namespace berth::cmd
