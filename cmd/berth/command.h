// What every command has in common: how it is added to the command line, and how its outcome
// becomes an exit code.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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
void add_plan(CLI::App& root, Run& run);
void add_sim(CLI::App& root, Run& run);

// `-o text|json`.
enum class Output { text, json };
void add_output_option(CLI::App& command, Output& output);

// `--controller-namespace`: where Berth is installed. In every command it has this name; -n and
// --namespace mean the same where nothing else is meant by them.
enum class Spelling { all, long_only };
void add_namespace_option(CLI::App& command, std::string& ns, Spelling spelling = Spelling::all);

// `--port` and the like: 0-65535.
void add_port_option(CLI::App& command, const std::string& name, std::uint16_t& port,
                     const std::string& help);

// How commands end; docs/troubleshooting.md has the table.
inline constexpr int kExitTrouble = 1;  // it looked and found trouble, or failed half-way
inline constexpr int kExitUsage = 2;    // the command line, or a file, says what cannot be
inline constexpr int kExitCannot = 3;   // not there, not allowed, or nobody answers

// Of a command line that names a command that there is not: says so and what there is. Nothing when
// it is sound.
std::optional<std::string> unknown_command(const CLI::App& root, int argc, char** argv);

// Ends the help text of a command.
void set_example(CLI::App& command, const std::string& example);

// Prints the error for a person and returns the exit code of its kind.
int report(const Result<>& result);
// What `report` returns for a command that did its work and found something to complain about.
void set_exit_code(int code);

}  // namespace berth::cmd
