// What every command has in common: how it is added to the command line, and how its outcome
// becomes an exit code.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace CLI {
class App;
}

namespace berth::cmd {

// Set when the user asked for a command to run; main runs it after parsing.
using Run = std::function<Result<>()>;

// Each adds its subcommand to the command line.
void add_version(CLI::App& root, Run& run);
void add_crds(CLI::App& root, Run& run);
void add_manifests(CLI::App& root, Run& run);
void add_uninstall(CLI::App& root, Run& run);
void add_controller(CLI::App& root, Run& run);
void add_demo(CLI::App& root, Run& run);
void add_playground(CLI::App& root, Run& run);
void add_status(CLI::App& root, Run& run);
void add_explain(CLI::App& root, Run& run);

// `-o text|json`.
enum class Output { text, json };
void add_output_option(CLI::App& command, Output& output);

// `--namespace`: where Berth is installed.
void add_namespace_option(CLI::App& command, std::string& ns);

// Ends the help text of a command.
void set_example(CLI::App& command, const std::string& example);

// Prints the error for a person and returns the exit code of its kind.
int report(const Result<>& result);
// What `report` returns for a command that did its work and found something to complain about.
void set_exit_code(int code);

}  // namespace berth::cmd
