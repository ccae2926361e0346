#pragma once

// Child processes for tests: long-lived servers (`Process`) and commands that end by themselves
// (`run`). Every child is killed by the kernel when the thread that started it ends, so a crashed
// test leaves no process behind.
//
// Owner: whoever holds the Process object. Threads: any thread, one at a time per object; the
// thread that calls spawn() must outlive the child.

#include <sys/types.h>

#include <chrono>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace berth::testing {

struct Command {
  std::filesystem::path program;
  std::vector<std::string> args;
  // The whole environment, as NAME=value: children see nothing of ours, so a developer's
  // KUBECONFIG or proxy settings cannot change what a test does.
  std::vector<std::string> env;
};

struct CommandResult {
  int exit_code = -1;
  std::string out;
  std::string err;

  [[nodiscard]] bool ok() const { return exit_code == 0; }
};

// Runs a command to its end; one that outlives the timeout is killed and reports exit code -1.
CommandResult run(const Command& command, std::string_view input,
                  std::chrono::milliseconds timeout);

class Process {
 public:
  // Starts a program whose output is appended to `log`.
  static std::expected<Process, std::string> spawn(const Command& command,
                                                   const std::filesystem::path& log);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  // Stops the child and waits until it is gone.
  ~Process();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Waits up to `timeout` for the child to end; true if it has.
  bool wait(std::chrono::milliseconds timeout);
  [[nodiscard]] bool running() { return !wait(std::chrono::milliseconds(0)); }
  // Asks the child to end. stop() follows after the grace period with a kill.
  void terminate() const;
  void stop(std::chrono::milliseconds grace);
  // How it ended, once wait() said so: the exit code, or 128 + signal like a shell.
  [[nodiscard]] std::optional<int> exit_code() const { return exit_code_; }

 private:
  friend CommandResult run(const Command&, std::string_view, std::chrono::milliseconds);
  Process(pid_t pid, Fd pid_fd) : pid_(pid), pid_fd_(std::move(pid_fd)) {}
  static std::expected<Process, std::string> start(const Command& command, int in, int out,
                                                   int err);

  pid_t pid_ = -1;
  Fd pid_fd_;
  std::optional<int> exit_code_;
};

}  // namespace berth::testing
