#include "edge/haproxy/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace berth::edge::haproxy {
namespace {

// As shells say of a program that cannot be run.
constexpr int kCannotRun = 127;

std::string text_of(int error) { return std::generic_category().message(error); }

int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

// Between fork and exec of a process with threads: system calls alone, nothing that allocates.
[[noreturn]] void become(char* const* arguments, int input, int output, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kCannotRun);  // it died before we said that we die with it
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD})
    ::signal(number, SIG_DFL);
  ::execv(arguments[0], arguments);
  ::_exit(kCannotRun);
}

}  // namespace

Result<Child> Child::start(const std::string& program, const std::vector<std::string>& args) {
  std::vector<std::string> texts{program};
  texts.insert(texts.end(), args.begin(), args.end());
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  const Fd input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::array<int, 2> ends{};
  if (!input.valid() || ::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(Code::exhausted, "no file for {}: {}", program, text_of(errno));
  Fd output(ends[0]);
  const Fd theirs(ends[1]);
  ::fcntl(output.get(), F_SETFL, O_NONBLOCK);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(arguments.data(), input.get(), theirs.get(), parent);
  if (pid < 0) return fail(Code::exhausted, "cannot start {}: {}", program, text_of(errno));
  ::setpgid(pid, pid);  // whichever of us is first
  return Child(pid, Fd(open_pidfd(pid)), std::move(output));
}

Child::Child(pid_t pid, Fd ended, Fd output)
    : pid_(pid), ended_(std::move(ended)), output_(std::move(output)) {}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      ended_(std::move(other.ended_)),
      output_(std::move(other.output_)) {}

Child::~Child() {
  if (pid_ < 0) return;
  // Before it is reaped, nobody else can have this number.
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Child::signal(int number) const { ::kill(pid_, number); }

bool Child::wait(Duration within) const {
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(within).count();
  pollfd wanted{.fd = ended_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&wanted, 1, static_cast<int>(patience)) > 0;
}

}  // namespace berth::edge::haproxy
