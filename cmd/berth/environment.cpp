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

#include "base/random.h"

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

struct StopOnSignal::Watcher {
  sigset_t signals{};
  sigset_t former{};
  int fd = -1;
  std::jthread thread;
};

StopOnSignal::StopOnSignal(std::stop_source& stop) : watcher_(new Watcher) {
  sigemptyset(&watcher_->signals);
  sigaddset(&watcher_->signals, SIGINT);
  sigaddset(&watcher_->signals, SIGTERM);
  sigaddset(&watcher_->signals, SIGHUP);  // the terminal was closed
  // Threads that start later inherit the mask, so the signals reach this descriptor alone.
  pthread_sigmask(SIG_BLOCK, &watcher_->signals, &watcher_->former);
  watcher_->fd = ::signalfd(-1, &watcher_->signals, SFD_CLOEXEC | SFD_NONBLOCK);
  watcher_->thread = std::jthread([this, &stop](const std::stop_token& end) {
    constexpr int kLookAgainMs = 200;
    int heard = 0;
    while (!end.stop_requested()) {
      pollfd wanted{.fd = watcher_->fd, .events = POLLIN, .revents = 0};
      if (::poll(&wanted, 1, kLookAgainMs) <= 0) continue;
      signalfd_siginfo info{};
      if (::read(watcher_->fd, &info, sizeof info) != sizeof info) continue;
      if (++heard > 1) ::_exit(130);
      stop.request_stop();
    }
  });
}

StopOnSignal::~StopOnSignal() {
  watcher_->thread.request_stop();
  watcher_->thread.join();
  ::close(watcher_->fd);
  pthread_sigmask(SIG_SETMASK, &watcher_->former, nullptr);
  delete watcher_;
}

}  // namespace berth::cmd
