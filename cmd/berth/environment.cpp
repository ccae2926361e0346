#include "environment.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/fd.h"
#include "base/random.h"
#include "base/threads.h"

namespace berth::cmd {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

kube::ConfigSource config_source(const std::string& kubeconfig, const std::string& context) {
  kube::ConfigSource source;
  source.explicit_file = kubeconfig;
  source.context = context;
  source.home = environment("HOME");
  source.service_host = environment("KUBERNETES_SERVICE_HOST");
  source.service_port = environment("KUBERNETES_SERVICE_PORT");
  const std::string list = environment("KUBECONFIG");
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) source.kubeconfig_files.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return source;
}

std::string temporary_folder() {
  const std::string folder = environment("TMPDIR");
  return folder.empty() ? "/tmp" : folder;
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto full = std::filesystem::absolute(path, error);
  return error ? path : full.string();
}

std::string process_identity() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("{}_{:08x}", host.data(), Random::from_entropy().next() >> 32);
}

void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

namespace {

class StopOnSignal {
 public:
  explicit StopOnSignal(std::stop_source& stop) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGHUP);  // the terminal was closed
    // Threads that start later inherit the mask, so the signals reach this descriptor alone.
    pthread_sigmask(SIG_BLOCK, &signals_, &former_);
    fd_ = Fd(::signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK));
    thread_ = std::jthread([this, &stop](const std::stop_token& end) { watch(stop, end); });
  }
  ~StopOnSignal() {
    thread_.request_stop();
    thread_.join();
    pthread_sigmask(SIG_SETMASK, &former_, nullptr);
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

 private:
  void watch(std::stop_source& stop, const std::stop_token& end) const {
    constexpr int kPollIntervalMs = 200;
    int heard = 0;
    while (!end.stop_requested()) {
      pollfd wanted{.fd = fd_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&wanted, 1, kPollIntervalMs) <= 0) continue;
      signalfd_siginfo info{};
      if (::read(fd_.get(), &info, sizeof info) != sizeof info) continue;
      if (++heard > 1) ::_exit(130);
      stop.request_stop();
    }
  }

  sigset_t signals_{};
  sigset_t former_{};
  Fd fd_;
  std::jthread thread_;
};

}  // namespace

struct Foreground::Parts {
  std::stop_source stop;
  StopOnSignal on_signal{stop};
  ThreadTasks tasks;
};

Foreground::Foreground() : parts_(std::make_unique<Parts>()) {}
Foreground::~Foreground() = default;

Context Foreground::context() { return {.tasks = parts_->tasks, .stop = parts_->stop.get_token()}; }

}  // namespace berth::cmd
