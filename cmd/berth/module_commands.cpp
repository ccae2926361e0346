#include "module_commands.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

namespace berth::cmd {
namespace {

using Given = decltype(module::CommandCall::given);

struct Flags {
  module::Command command;
  ClusterFlags cluster;
  Output output = Output::text;
  Given given;
};

Result<> run_command(const Flags& flags, const WithCluster& with) {
  return with(flags.cluster, [&](const Context& context, kube::Client& client) -> Result<> {
    Result<module::CommandReply> reply = flags.command.run({context, client, flags.given});
    if (!reply) return pass(reply);
    if (flags.output == Output::json) {
      std::puts(wire::to_pretty_json(reply->json).c_str());
    } else {
      std::fputs(reply->text.c_str(), stdout);
    }
    if (!reply->well) set_exit_code(kExitTrouble);
    return {};
  });
}

void add_option(CLI::App& command, const module::CommandOption& option, Given& given) {
  const std::string key = module::key_of(option);
  if (option.value.empty()) {
    command.add_flag_callback(option.name, [&given, key] { given[key] = {"true"}; }, option.help);
    return;
  }
  if (!option.otherwise.empty()) given[key] = {option.otherwise};
  CLI::Option* const added = command.add_option_function<std::vector<std::string>>(
      option.name, [&given, key](const std::vector<std::string>& values) { given[key] = values; },
      option.help);
  // A repeated one is taken each time; never "--a x y", which would swallow an argument.
  added->type_name(option.value)->required(option.required)->allow_extra_args(false);
  if (!option.many) added->expected(1);
  if (!option.otherwise.empty()) added->default_str(option.otherwise);
}

// "stages list" is `list` below `stages`, which is made where it is missing.
CLI::App& parent_of(CLI::App& root, const std::string& first) {
  for (CLI::App* const one : root.get_subcommands([](const CLI::App*) { return true; }))
    if (one->get_name() == first) return *one;
  CLI::App& made = *root.add_subcommand(first, "");
  made.require_subcommand(1);
  return made;
}

}  // namespace

void add_module_commands(CLI::App& root, Run& run, std::vector<module::Command> commands,
                         WithCluster with) {
  for (module::Command& one : commands) {
    const auto flags = std::make_shared<Flags>();
    flags->command = std::move(one);
    const std::string& name = flags->command.name;
    const std::size_t space = name.find(' ');
    CLI::App& parent = space == std::string::npos ? root : parent_of(root, name.substr(0, space));
    CLI::App& command = *parent.add_subcommand(
        space == std::string::npos ? name : name.substr(space + 1), flags->command.about);
    add_cluster_options(command, flags->cluster);
    add_output_option(command, flags->output);
    for (const module::CommandOption& option : flags->command.options)
      add_option(command, option, flags->given);
    set_example(command, flags->command.example);
    command.callback(
        [&run, flags, with] { run = [flags, with] { return run_command(*flags, with); }; });
  }
}

}  // namespace berth::cmd
