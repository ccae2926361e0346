// What tests of the edge share: a driver with short seconds, rooms that echo, and clients that
// block with a bound. Free of GTest.
#pragma once

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <string>
#include <thread>

#include "base/random.h"
#include "base/threads.h"
#include "edge/driver.h"
#include "edge/echo_server.h"
#include "edge/echo_station.h"

namespace berth::edge::testing {

inline constexpr int kTimeoutMs = 20'000;

inline std::string random_bytes(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::string out(size, '\0');
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    const std::uint64_t word = random.next();
    std::copy_n(reinterpret_cast<const char*>(&word), 8, out.begin() + static_cast<ssize_t>(at));
  }
  for (; at < size; ++at) out[at] = static_cast<char>(random.next());
  return out;
}

// Asks until the answer is yes or the time is over.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{kTimeoutMs};
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}

// While it lives, the process gets no file descriptor, not even one that it has just closed, but
// for numbers below `most`.
class NoFiles {
 public:
  explicit NoFiles(rlim_t most = 3) {
    (void)::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{.rlim_cur = most, .rlim_max = before_.rlim_max};
    (void)::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoFiles() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }
  NoFiles(const NoFiles&) = delete;
  NoFiles& operator=(const NoFiles&) = delete;

 private:
  rlimit before_{};
};

// A socket that waits, but never for ever.
class Client {
 public:
  explicit Client(Fd fd) : fd_(std::move(fd)) {}
  static Client tcp(const model::Target& to) {
    Client client(connect_tcp(to).value());
    (void)client.wait(POLLOUT);
    return client;
  }
  static Client udp(const model::Target& to) { return Client(connect_udp(to).value()); }
  // From an address of its own, as another player's machine has.
  static Client from(const std::string& ip, model::Transport protocol, const model::Target& to) {
    const int type = protocol == model::Transport::tcp ? SOCK_STREAM : SOCK_DGRAM;
    const SocketAddress own = SocketAddress::of({ip, 0}).value();
    const SocketAddress there = SocketAddress::of(to).value();
    Client client(Fd(::socket(own.family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
    (void)::bind(client.fd(), own.get(), own.length());
    (void)::connect(client.fd(), there.get(), there.length());
    (void)client.wait(POLLOUT);
    return client;
  }

  int fd() const { return fd_.get(); }
  bool connected() const { return pending_error(fd_) == 0; }
  bool wait(short events, int timeout_ms = kTimeoutMs) const {
    pollfd wanted{.fd = fd_.get(), .events = events, .revents = 0};
    return ::poll(&wanted, 1, timeout_ms) > 0;
  }
  // False: the connection broke or the time is over.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
      if (n < 0 && (errno != EAGAIN || !wait(POLLOUT))) return false;
    }
    return true;
  }
  void end() const { (void)::shutdown(fd_.get(), SHUT_WR); }
  void reset() {
    close_with_reset(fd_);
    fd_.close();
  }
  // One read: what is there. Empty at the end, on an error (`error` says which) or when time is
  // over.
  std::string read_some(std::size_t most = 64u << 10, int timeout_ms = kTimeoutMs) {
    std::string out(most, '\0');
    error = ETIMEDOUT;
    ssize_t n = -1;
    if (wait(POLLIN, timeout_ms)) {
      n = ::recv(fd_.get(), out.data(), out.size(), 0);
      error = n < 0 ? errno : 0;
    }
    out.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    return out;
  }
  std::string read(std::size_t size) {
    std::string out;
    while (out.size() < size) {
      const std::string more = read_some(size - out.size());
      if (more.empty()) break;
      out += more;
    }
    return out;
  }
  std::string ask(std::string_view text) { return send(text) ? read(text.size()) : std::string(); }

  int error = 0;

 private:
  Fd fd_;
};

// A TCP server whose connections the test holds in its hands.
class Hand {
 public:
  explicit Hand(model::Target at) : at_(std::move(at)), listener_(listen_tcp(at_).value()) {}
  const model::Target& at() const { return at_; }
  Client accept() const {
    pollfd wanted{.fd = listener_.get(), .events = POLLIN, .revents = 0};
    (void)::poll(&wanted, 1, kTimeoutMs);
    return Client(accept_tcp(listener_));
  }
  // Somebody has come and was not accepted yet.
  bool waits() const {
    pollfd wanted{.fd = listener_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&wanted, 1, 0) > 0;
  }

 private:
  const model::Target at_;
  const Fd listener_;
};

// A listener whose queue is full: the kernel drops what wants to connect, as a machine does that is
// gone.
class SilentRoom {
 public:
  explicit SilentRoom(model::Target at) : at_(std::move(at)), listener_(listen_tcp(at_).value()) {
    (void)::listen(listener_.get(), 0);
    while (!is_full() && waiting_.size() < kMostWaiting) waiting_.push_back(Client::tcp(at_));
  }
  const model::Target& at() const { return at_; }
  // It hears again.
  void listen() {
    (void)::listen(listener_.get(), 100);
    waiting_.clear();
  }
  // The next one that sends this.
  Client accept_who_says(std::string_view text) const {
    for (;;) {
      Client next(accept_tcp(listener_));
      if (next.fd() < 0 || next.read(text.size()) == text) return next;
    }
  }

 private:
  static constexpr std::size_t kMostWaiting = 10;
  bool is_full() const {
    tcp_info info{};
    socklen_t length = sizeof info;
    (void)::getsockopt(listener_.get(), IPPROTO_TCP, TCP_INFO, &info, &length);
    return info.tcpi_unacked > info.tcpi_sacked;  // of one that listens: its queue and the most
  }

  const model::Target at_;
  const Fd listener_;
  std::vector<Client> waiting_;
};

// Answers each datagram with its own name and the port from which it came.
class NamedRoom {
 public:
  NamedRoom(model::Target at, std::string name)
      : fd_(bind_udp(at).value()), name_(std::move(name)), thread_([this](std::stop_token stop) {
          while (!stop.stop_requested()) answer();
        }) {}

 private:
  void answer() const {
    pollfd wanted{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&wanted, 1, 20) <= 0) return;
    SocketAddress from;
    socklen_t length = SocketAddress::kRoom;
    std::array<char, 2048> buffer;
    if (::recvfrom(fd_.get(), buffer.data(), buffer.size(), 0, from.room(), &length) < 0) return;
    const std::string text = fmt::format("{}:{}", name_, from.port());
    (void)::sendto(fd_.get(), text.data(), text.size(), 0, from.get(), length);
  }

  const Fd fd_;
  const std::string name_;
  std::jthread thread_;
};

// The name that a room says first; empty when nobody does.
inline std::string greeting_at(const model::Target& at) {
  return ask_over_tcp(at, "", kTimeoutMs).value_or("");
}
// How many of so many new connections each room got.
inline std::map<std::string, int> spread(const model::Target& at, int connections) {
  std::map<std::string, int> out;
  for (int i = 0; i < connections; ++i) ++out[greeting_at(at)];
  return out;
}

// A driver, and rooms on loopback addresses that nothing else uses.
class Edge {
 public:
  explicit Edge(EdgeOptions options = {}) : driver(start(std::move(options))) {}
  static std::unique_ptr<EdgeDriver> start(EdgeOptions options) {
    options.loopback_targets = true;
    return EdgeDriver::start(std::move(options)).value();
  }

  // Ports outside of what the system hands out by itself; after the last one the first again, whose
  // test has ended by then.
  static model::Port fresh_port(model::Port count = 1) {
    constexpr std::uint32_t kFirst = 21'000, kEnd = 28'000;
    static std::uint32_t next = kFirst + static_cast<std::uint32_t>(::getpid()) % 4000;
    if (next + count > kEnd) next = kFirst;
    return static_cast<model::Port>(std::exchange(next, next + count));
  }
  // An address for each process: tests run beside each other.
  static std::string room_ip() {
    return fmt::format("127.20.{}.{}", ::getpid() / 250 % 250, 1 + ::getpid() % 250);
  }
  model::Target room_at() const { return {room_ip(), fresh_port()}; }
  // Says its name to TCP connections first, then what it hears.
  model::Target open_room(const std::string& name = {}) { return open_room_at(room_at(), name); }
  model::Target open_room_at(const model::Target& at, const std::string& name = {}) {
    for (const auto protocol : {model::Transport::tcp, model::Transport::udp})
      places[at].push_back(
          station->open({.protocol = protocol, .at = at, .greeting = name}).value());
    return at;
  }

  // So many rooms whose ports follow each other, named by their number. The first of them.
  model::Target open_rooms(model::Port count) {
    const model::Target first{room_ip(), fresh_port(count)};
    for (model::Port n = 0; n < count; ++n)
      open_room_at({first.ip, static_cast<model::Port>(first.port + n)}, fmt::format("{}", n));
    return first;
  }

  model::ListenerId create(const model::ListenerSpec& spec) {
    return driver->create(context, lb, {&spec, 1}).front().value();
  }
  Result<> change(const model::ListenerId& id, std::vector<model::WeightedTarget> add,
                  std::vector<model::Target> remove = {}) {
    const lb::TargetChange change{
        .rule = {id, {}}, .add = std::move(add), .remove = std::move(remove)};
    return driver->change_targets(context, lb, {&change, 1}).front();
  }
  Result<> set_attributes(const model::ListenerId& id, const model::RuleAttributes& attributes) {
    const lb::RuleChange change{.rule = {id, {}}, .attributes = attributes};
    return driver->change_rules(context, lb, {&change, 1}).front();
  }
  // A listener on fresh ports with these targets.
  struct Door {
    model::ListenerId id;
    model::Target at;
  };
  Door open_door(model::Transport protocol, std::vector<model::WeightedTarget> targets,
                 model::RuleAttributes attributes = {}, model::Port ports = 1) {
    const model::Port first = door_port(ports);
    const model::PortRange range{first, static_cast<model::Port>(first + ports - 1)};
    Door door{.id = create(model::plain_listener(model::protocol_of(protocol), range,
                                                 fmt::format("room-{}", first), {},
                                                 std::move(attributes))),
              .at = {vip(), first}};
    change(door.id, std::move(targets)).value();
    return door;
  }
  std::string vip() { return lb::describe_one(context, *driver, lb)->vips.front(); }
  ListenerSnapshot seen(const model::ListenerId& id) const {
    for (ListenerSnapshot& one : driver->snapshot().listeners)
      if (one.id == id) return std::move(one);
    return {};
  }

  std::function<model::Port(model::Port count)> door_port = fresh_port;
  ThreadTasks tasks;
  const Context context{.tasks = tasks};
  model::LoadBalancerRef lb{.id = fmt::format("test-{}", ::getpid())};
  std::unique_ptr<EchoStation> station = EchoStation::start(18'000).value();
  std::map<model::Target, std::vector<std::unique_ptr<EchoStation::Place>>> places;
  std::unique_ptr<EdgeDriver> driver;
};

// A connection with both of its ends in the hands of the test.
struct Line {
  Client player;
  Client room;
};

// A TCP listener whose only target is in the hands of the test.
class HeldDoor {
 public:
  explicit HeldDoor(Edge& edge)
      : edge_(edge),
        room_(edge.room_at()),
        door_(edge.open_door(model::Transport::tcp, {{room_.at()}})) {}

  // One at a time: which player has which end is told by the order alone.
  Line connect() {
    const MutexLock lock(mu_);
    Client player = Client::tcp(door_.at);
    return {std::move(player), room_.accept()};
  }
  ListenerSnapshot seen() const { return edge_.seen(door_.id); }

 private:
  Edge& edge_;
  const Hand room_;
  const Edge::Door door_;
  Mutex mu_;
};

// Its load balancer has an address of each family.
class DualEdge : public Edge {
 public:
  DualEdge() : Edge({.addresses = fixed_plan({{"dual", {room_ip(), "::1"}}})}) {
    lb.id = "dual";
    door_port = [](model::Port) { return fresh_v6_port(); };
  }
  // ::1 is there once for all processes: each claims a block of ports, whose first stays bound for
  // as long as it lives.
  static model::Port fresh_v6_port() {
    constexpr model::Port kFirst = 28'000, kEnd = 32'000, kBlock = 16;
    static model::Port base = kFirst;
    static const Fd claim = [] {
      for (; base < kEnd; base += kBlock)
        if (Result<Fd> fd = listen_tcp({"::1", base})) return std::move(*fd);
      return Fd();
    }();
    static model::Port next = 0;
    return static_cast<model::Port>(base + 1 + next++ % (kBlock - 1));
  }
};

}  // namespace berth::edge::testing
