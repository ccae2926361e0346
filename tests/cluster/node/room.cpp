// A room for tests on real nodes: gives back what it is sent over TCP and UDP, and says who it is.
// Linked statically and alone in its image, so what people do inside of a Pod are its subcommands.
//
//   room               serves port 8000
//   room serve PORT    ends by SIGTERM when its last connection is closed; SIGUSR1: takes memory
//                      until it is killed; SIGUSR2: crashes
//   room env NAME      a variable of the Pod
//   room cat FILE      a file of the Pod
//   room signal N      sends a signal to the room of this container

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <unordered_map>

namespace {

constexpr std::size_t kBuffer = 64u << 10;
constexpr int kBacklog = 1024;
constexpr std::uint16_t kPort = 8000;
constexpr std::string_view kWho = "who\n";

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

std::string own_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) give_up("gethostname");
  return std::string(name.data()) + "\n";
}

int bound_socket(int type, std::uint16_t port) {
  const int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    give_up("bind");
  return fd;
}

class Room {
 public:
  explicit Room(std::uint16_t port)
      : poller_(epoll_create1(EPOLL_CLOEXEC)),
        tcp_(bound_socket(SOCK_STREAM, port)),
        udp_(bound_socket(SOCK_DGRAM, port)) {
    if (listen(tcp_, kBacklog) != 0) give_up("listen");
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGTERM, SIGUSR1, SIGUSR2}) sigaddset(&signals, number);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    signals_ = signalfd(-1, &signals, SFD_CLOEXEC);
    for (const int fd : {tcp_, udp_, signals_}) watch(fd, EPOLLIN, EPOLL_CTL_ADD);
  }

  void serve() {
    std::array<epoll_event, 64> events{};
    while (!ends_ || !waiting_.empty()) {
      const int count = epoll_wait(poller_, events.data(), events.size(), -1);
      for (int i = 0; i < count; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        if (fd == tcp_) {
          accept_all();
        } else if (fd == udp_) {
          answer_datagrams();
        } else if (fd == signals_) {
          on_signal();
        } else {
          answer(fd);
        }
      }
    }
  }

 private:
  void watch(int fd, std::uint32_t what, int change) {
    epoll_event event{};
    event.events = what;
    event.data.fd = fd;
    if (epoll_ctl(poller_, change, fd, &event) != 0) give_up("epoll_ctl");
  }

  void accept_all() {
    for (int fd; (fd = accept4(tcp_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      waiting_[fd];
      watch(fd, EPOLLIN, EPOLL_CTL_ADD);
    }
  }

  // A connection either has something to be sent, or is read; never both, so nothing piles up.
  void answer(int fd) {
    std::string& pending = waiting_[fd];
    if (pending.empty()) {
      const ssize_t size = read(fd, buffer_.data(), buffer_.size());
      if (size <= 0) return close_connection(fd);
      const std::string_view text(buffer_.data(), static_cast<std::size_t>(size));
      pending = text == kWho ? name_ : std::string(text);
    }
    const ssize_t sent = send(fd, pending.data(), pending.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return close_connection(fd);
    if (sent > 0) pending.erase(0, static_cast<std::size_t>(sent));
    watch(fd, pending.empty() ? EPOLLIN : EPOLLOUT, EPOLL_CTL_MOD);
  }

  void close_connection(int fd) {
    close(fd);
    waiting_.erase(fd);
  }

  void answer_datagrams() {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    ssize_t size;
    while ((size = recvfrom(udp_, buffer_.data(), buffer_.size(), 0,
                            reinterpret_cast<sockaddr*>(&from), &length)) >= 0) {
      std::string_view text(buffer_.data(), static_cast<std::size_t>(size));
      if (text == kWho) text = name_;
      sendto(udp_, text.data(), text.size(), 0, reinterpret_cast<sockaddr*>(&from), length);
      length = sizeof from;
    }
  }

  void on_signal() {
    signalfd_siginfo info{};
    if (read(signals_, &info, sizeof info) != sizeof info) return;
    if (info.ssi_signo == SIGUSR2) std::abort();
    if (info.ssi_signo == SIGUSR1) {
      for (;;) std::memset(std::malloc(1u << 20), 1, 1u << 20);
    }
    ends_ = true;
    epoll_ctl(poller_, EPOLL_CTL_DEL, tcp_, nullptr);
    close(tcp_);
  }

  const std::string name_ = own_name();
  int poller_;
  int tcp_;
  int udp_;
  int signals_ = -1;
  bool ends_ = false;
  std::array<char, kBuffer> buffer_{};
  std::unordered_map<int, std::string> waiting_;  // by connection: what is still to be sent
};

int print_file(const char* path) {
  std::ifstream file(path);
  std::cout << file.rdbuf();
  return file ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view verb = argc == 3 ? argv[1] : "";
  if (argc == 1 || verb == "serve") {
    Room(argc == 1 ? kPort : static_cast<std::uint16_t>(std::atoi(argv[2]))).serve();
    return 0;
  }
  if (verb == "env") {
    const char* value = std::getenv(argv[2]);
    std::cout << (value ? value : "") << "\n";
    return value ? 0 : 1;
  }
  if (verb == "cat") return print_file(argv[2]);
  if (verb == "signal") return kill(1, std::atoi(argv[2])) == 0 ? 0 : 1;
  std::cerr << "usage: room serve PORT | env NAME | cat FILE | signal N\n";
  return 2;
}
