#include "support/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <utility>

namespace berth::testing {
namespace {

using std::chrono::milliseconds;

// Long enough for etcd and kube-apiserver to close their listeners on a busy machine.
constexpr milliseconds kStopGrace{5000};
constexpr int kExecFailed = 127;

std::string errno_text(std::string_view what) {
  return std::string(what) + ": " + std::strerror(errno);
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (auto& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

struct ChildPlan {
  pid_t parent;
  std::array<int, 3> stdio;
  int report;
  const char* program;
  char* const* argv;
  char* const* envp;
};

// Between fork and exec only async-signal-safe calls are allowed: other threads may have held
// any lock at the moment of the fork.
[[noreturn]] void become(const ChildPlan& plan) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above: nobody would kill us then.
  if (::getppid() != plan.parent) ::_exit(kExecFailed);
  // Own group: Ctrl-C in a terminal reaches the test alone, which then stops us in order.
  ::setpgid(0, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  for (int target = 0; target < 3; ++target) {
    ::dup2(plan.stdio.at(static_cast<size_t>(target)), target);
  }
  ::close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
  ::execve(plan.program, plan.argv, plan.envp);
  const int reason = errno;
  [[maybe_unused]] const auto written = ::write(plan.report, &reason, sizeof reason);
  ::_exit(kExecFailed);
}

// By number: the C library of Debian 12 declares the function without extern "C".
int pid_descriptor(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

std::string read_back(const Fd& memory) {
  std::string text;
  std::array<char, 16384> buffer{};
  off_t offset = 0;
  for (;;) {
    const auto got = ::pread(memory.get(), buffer.data(), buffer.size(), offset);
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
    offset += got;
  }
}

bool fill(const Fd& memory, std::string_view text) {
  while (!text.empty()) {
    const auto put = ::write(memory.get(), text.data(), text.size());
    if (put <= 0) return false;
    text.remove_prefix(static_cast<size_t>(put));
  }
  return ::lseek(memory.get(), 0, SEEK_SET) == 0;
}

}  // namespace

std::expected<Process, std::string> Process::start(const Command& command, int in, int out,
                                                   int err) {
  std::vector<std::string> words{command.program.string()};
  words.insert(words.end(), command.args.begin(), command.args.end());
  auto env = command.env;
  const auto argv = pointers(words);
  const auto envp = pointers(env);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::unexpected(errno_text("pipe"));
  Fd report(ends[0]);
  Fd child_report(ends[1]);

  const ChildPlan plan{::getpid(),       {in, out, err}, child_report.get(),
                       words[0].c_str(), argv.data(),    envp.data()};
  const pid_t pid = ::fork();
  if (pid < 0) return std::unexpected(errno_text("fork"));
  if (pid == 0) become(plan);

  child_report.close();
  Process process(pid, Fd(pid_descriptor(pid)));
  int reason = 0;
  if (::read(report.get(), &reason, sizeof reason) == sizeof reason) {
    return std::unexpected("cannot run " + words[0] + ": " + std::strerror(reason));
  }
  if (!process.pid_fd_.valid()) return std::unexpected(errno_text("pidfd_open"));
  return process;
}

std::expected<Process, std::string> Process::spawn(const Command& command,
                                                   const std::filesystem::path& log) {
  const Fd in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Fd out(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!in.valid() || !out.valid()) return std::unexpected(errno_text("open " + log.string()));
  return start(command, in.get(), out.get(), out.get());
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pid_fd_(std::move(other.pid_fd_)),
      exit_code_(other.exit_code_) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    stop(kStopGrace);
    pid_ = std::exchange(other.pid_, -1);
    pid_fd_ = std::move(other.pid_fd_);
    exit_code_ = other.exit_code_;
  }
  return *this;
}

Process::~Process() { stop(kStopGrace); }

bool Process::wait(milliseconds timeout) {
  if (pid_ < 0 || exit_code_) return true;
  pollfd ended{pid_fd_.get(), POLLIN, 0};
  if (::poll(&ended, 1, static_cast<int>(timeout.count())) != 1) return false;
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) return false;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

void Process::terminate() const {
  if (pid_ >= 0 && !exit_code_) ::kill(pid_, SIGTERM);
}

void Process::stop(milliseconds grace) {
  if (pid_ < 0 || exit_code_) return;
  terminate();
  if (wait(grace)) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  exit_code_ = 128 + SIGKILL;
}

CommandResult run(const Command& command, std::string_view input, milliseconds timeout) {
  // Files in memory instead of pipes: no pipe can fill up while we wait for the other end.
  const Fd in(::memfd_create("stdin", MFD_CLOEXEC));
  const Fd out(::memfd_create("stdout", MFD_CLOEXEC));
  const Fd err(::memfd_create("stderr", MFD_CLOEXEC));
  if (!in.valid() || !out.valid() || !err.valid() || !fill(in, input)) {
    return {-1, {}, errno_text("memfd")};
  }
  auto process = Process::start(command, in.get(), out.get(), err.get());
  if (!process) return {-1, {}, process.error()};
  const bool ended = process->wait(timeout);
  if (!ended) process->stop(milliseconds(0));
  CommandResult result{ended ? process->exit_code().value_or(-1) : -1, read_back(out),
                       read_back(err)};
  if (!ended) result.err += "killed after " + std::to_string(timeout.count()) + " ms\n";
  return result;
}

}  // namespace berth::testing
