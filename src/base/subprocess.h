// Runs another program to its end: credential plugins and the like. Any thread may call.
//
// The program gets a process group of its own. When the context stops or its deadline passes, the
// whole group is killed, so a helper that the program started does not stay behind.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/context.h"

namespace berth {

struct Command {
  std::string program{};  // a path, or a name to look up in PATH
  std::vector<std::string> args{};
  // Added to our own environment, or in place of what is there.
  std::vector<std::pair<std::string, std::string>> extra_env{};
  std::string input{};                      // standard input; it never sees our terminal
  std::size_t max_output_bytes = 1u << 20;  // of each of the two outputs; the rest is dropped
};

struct CommandResult {
  int exit_code = 0;  // 128 + signal for a program that a signal ended, as shells count
  std::string out{};
  std::string err{};
  bool truncated = false;  // an output was longer than the bound
};

// An error says that the program did not run to its end: not_found, forbidden, stopped, timeout. A
// program that fails is a result with its exit code.
Result<CommandResult> run_command(const Context& context, const Command& command);

}  // namespace berth
