#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>

#include "base/fd.h"

namespace berth {
namespace {

// What a pipe holds by default: one read takes all that waits.
constexpr std::size_t kPipeBytes = 64u << 10;

std::string text_of(int error) { return std::generic_category().message(error); }

struct Pipe {
  Fd read_end;
  Fd write_end;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(Code::exhausted, "cannot make a pipe: {}", text_of(errno));
  // Only our end: the program expects an ordinary blocking one.
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{.read_end = Fd(ends[0]), .write_end = Fd(ends[1])};
}

// Input as a file in memory: nobody has to feed it, and a program that does not read it raises no
// SIGPIPE here.
Result<Fd> input_file(std::string_view input) {
  if (input.empty()) {
    Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null.valid()) return fail(Code::internal, "cannot open /dev/null: {}", text_of(errno));
    return null;
  }
  Fd file(::memfd_create("stdin", MFD_CLOEXEC));
  if (!file.valid()) return fail(Code::exhausted, "cannot keep the input: {}", text_of(errno));
  for (std::size_t at = 0; at < input.size();) {
    const ssize_t wrote = ::write(file.get(), input.data() + at, input.size() - at);
    if (wrote < 0) return fail(Code::exhausted, "cannot keep the input: {}", text_of(errno));
    at += static_cast<std::size_t>(wrote);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// NAME=value strings: ours, then the extra ones, which win.
std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& extra) {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line(*entry);
    const std::string_view name = line.substr(0, line.find('='));
    const bool replaced =
        std::ranges::any_of(extra, [&](const auto& e) { return e.first == name; });
    if (!replaced) all.emplace_back(line);
  }
  for (const auto& [name, value] : extra) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

class SpawnSettings {
 public:
  SpawnSettings(int in, int out, int err) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    // Our signal settings are no business of the program's.
    sigset_t none{};
    sigset_t all{};
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

Result<pid_t> spawn(const Command& command, int in, int out, int err) {
  std::vector<std::string> arguments{command.program};
  arguments.insert(arguments.end(), command.args.begin(), command.args.end());
  std::vector<std::string> environment = environment_with(command.extra_env);
  const SpawnSettings settings(in, out, err);
  pid_t pid = -1;
  const int error =
      ::posix_spawnp(&pid, command.program.c_str(), &settings.actions, &settings.attributes,
                     pointers_to(arguments).data(), pointers_to(environment).data());
  if (error == 0) return pid;
  const Code code = error == ENOENT                                         ? Code::not_found
                    : error == EACCES || error == EPERM || error == ENOEXEC ? Code::forbidden
                    : error == EAGAIN || error == ENOMEM || error == EMFILE ? Code::exhausted
                                                                            : Code::invalid;
  return fail(code, "cannot start {}: {}", command.program, text_of(error));
}

// glibc 2.36 declares its wrapper without C linkage.
int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

// A started program. The destructor kills its group and reaps it, unless `reap` did.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid), ended_(open_pidfd(pid)) {}
  ~Child() {
    if (pid_ < 0) return;
    ::kill(-pid_, SIGKILL);
    (void)reap();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Readable once the program has ended.
  const Fd& ended() const { return ended_; }

  int reap() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
  Fd ended_;
};

// Takes what waits in the pipe. False at its end.
bool drain(const Fd& pipe, std::string& into, std::size_t max_bytes, bool& truncated) {
  std::array<char, kPipeBytes> chunk;
  for (;;) {
    const ssize_t got = ::read(pipe.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;
    const auto bytes = static_cast<std::size_t>(got);
    const std::size_t room = max_bytes - into.size();
    into.append(chunk.data(), std::min(bytes, room));
    truncated = truncated || bytes > room;
  }
}

int poll_timeout(const Context& context) {
  if (context.deadline == kNever) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(context.deadline - context.tasks.now());
  return static_cast<int>(
      std::clamp<std::int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
}

// Collects both outputs until the program ends. A helper that outlives it may hold the pipes open:
// their end is not waited for.
Result<CommandResult> follow(const Context& context, const Command& command, Child& child, Fd out,
                             Fd err) {
  const Fd stopped(::eventfd(0, EFD_CLOEXEC));
  const std::stop_callback wake(context.stop, [&] { ::eventfd_write(stopped.get(), 1); });
  CommandResult result;
  for (;;) {
    if (context.expired()) {
      Error error = context.end_error();
      error.message =
          fmt::format("{} was ended before it finished: {}", command.program, error.message);
      return fail(std::move(error));
    }
    // A closed pipe is passed over: poll ignores a negative number.
    std::array<pollfd, 4> waits{{{out.get(), POLLIN, 0},
                                 {err.get(), POLLIN, 0},
                                 {child.ended().get(), POLLIN, 0},
                                 {stopped.get(), POLLIN, 0}}};
    if (::poll(waits.data(), waits.size(), poll_timeout(context)) < 0 && errno != EINTR)
      return fail(Code::internal, "cannot wait for {}: {}", command.program, text_of(errno));
    const bool ended = waits[2].revents != 0;
    const std::size_t bound = command.max_output_bytes;
    if (out.valid() && !drain(out, result.out, bound, result.truncated)) out.close();
    if (err.valid() && !drain(err, result.err, bound, result.truncated)) err.close();
    if (!ended) continue;
    result.exit_code = child.reap();
    return result;
  }
}

}  // namespace

Result<CommandResult> run_command(const Context& context, const Command& command) {
  if (context.expired()) return fail(context.end_error());
  auto in = input_file(command.input);
  if (!in) return pass(in);
  auto out = make_pipe();
  if (!out) return pass(out);
  auto err = make_pipe();
  if (!err) return pass(err);
  auto pid = spawn(command, in->get(), out->write_end.get(), err->write_end.get());
  if (!pid) return pass(pid);
  Child child(*pid);
  if (!child.ended().valid())
    return fail(Code::internal, "cannot watch {}: {}", command.program, text_of(errno));
  out->write_end.close();
  err->write_end.close();
  return follow(context, command, child, std::move(out->read_end), std::move(err->read_end));
}

}  // namespace berth
