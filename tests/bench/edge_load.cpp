#include "edge_load.h"

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <list>
#include <thread>

#include "edge/event_loop.h"

namespace berth::bench {
namespace {

using edge::EventLoop;
using edge::SocketAddress;
using edge::Watcher;

constexpr int kStreams = 64;
constexpr int kCallsAtOnce = 128;
constexpr std::size_t kCallBytes = 64;
constexpr int kUdpPlayers = 64;
constexpr unsigned kWindow = 16;             // datagrams of one player under way
constexpr std::size_t kDatagramBytes = 200;  // as games have them
constexpr std::chrono::milliseconds kWarmUp{500};
constexpr std::chrono::milliseconds kLossCheck{50};

// Datagrams for one system call. All of them have the same bytes.
struct Datagrams {
  static constexpr unsigned kMost = 64;
  Datagrams() {
    for (unsigned i = 0; i < kMost; ++i) {
      vectors[i] = {bytes[i].data(), bytes[i].size()};
      headers[i] = {};
      headers[i].msg_hdr.msg_iov = &vectors[i];
      headers[i].msg_hdr.msg_iovlen = 1;
    }
  }
  void with_names() {
    for (unsigned i = 0; i < kMost; ++i) {
      headers[i].msg_hdr.msg_name = names[i].room();
      headers[i].msg_hdr.msg_namelen = SocketAddress::kRoom;
    }
  }
  std::array<std::array<char, kDatagramBytes>, kMost> bytes{};
  std::array<iovec, kMost> vectors{};
  std::array<SocketAddress, kMost> names{};
  std::array<mmsghdr, kMost> headers{};
};

// A loop with watchers that it owns.
class Loop : public Running {
 public:
  explicit Loop(std::unique_ptr<EventLoop> loop) : loop_(std::move(loop)) {}
  ~Loop() override { loop_->stop(); }
  EventLoop& loop() { return *loop_; }

 protected:
  std::unique_ptr<EventLoop> loop_;
};

class TcpRooms final : public Loop {
 public:
  TcpRooms(std::unique_ptr<EventLoop> loop, bool streams, std::vector<Fd> listeners)
      : Loop(std::move(loop)), streams_(streams), listeners_(std::move(listeners)) {
    loop_->post([this] {
      for (const Fd& fd : listeners_)
        loop_->watch(fd.get(), EventLoop::kReadable, [this, &fd](std::uint32_t) { accept(fd); });
    });
  }
  ~TcpRooms() override { loop_->stop(); }

 private:
  struct Guest final : Watcher {
    Guest(TcpRooms& its_rooms, Fd socket) : rooms(its_rooms), fd(std::move(socket)) {}
    void on_events(std::uint32_t events) override { rooms.serve(*this, events); }
    TcpRooms& rooms;
    Fd fd;
    std::list<std::unique_ptr<Guest>>::iterator self{};
  };

  void accept(const Fd& listener) {
    for (Fd fd = edge::accept_tcp(listener); fd.valid(); fd = edge::accept_tcp(listener)) {
      guests_.push_front(std::make_unique<Guest>(*this, std::move(fd)));
      Guest& guest = *guests_.front();
      guest.self = guests_.begin();
      loop_->watch(guest.fd.get(), streams_ ? EventLoop::kWritable : EventLoop::kReadable, guest);
    }
  }

  void serve(Guest& guest, std::uint32_t events) {
    bool over = (events & EventLoop::kFailed) != 0;
    if (streams_) {
      over = over || (::send(guest.fd.get(), said_.data(), said_.size(), MSG_NOSIGNAL) < 0 &&
                      errno != EAGAIN);
    } else {
      const ssize_t n = ::recv(guest.fd.get(), heard_.data(), heard_.size(), 0);
      if (n > 0)
        (void)::send(guest.fd.get(), heard_.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL);
      over = n >= 0 || errno != EAGAIN;  // one answer, then goodbye
    }
    if (!over) return;
    loop_->forget(guest.fd.get());
    guests_.erase(guest.self);
  }

  const bool streams_;
  const std::vector<Fd> listeners_;
  std::vector<char> said_ = std::vector<char>(256u << 10, 'x');
  std::vector<char> heard_ = std::vector<char>(4096);
  std::list<std::unique_ptr<Guest>> guests_;
};

class UdpRooms final : public Loop {
 public:
  UdpRooms(std::unique_ptr<EventLoop> loop, std::vector<Fd> sockets)
      : Loop(std::move(loop)), sockets_(std::move(sockets)) {
    loop_->post([this] {
      for (const Fd& fd : sockets_)
        loop_->watch(fd.get(), EventLoop::kReadable, [this, &fd](std::uint32_t) { echo(fd); });
    });
  }
  ~UdpRooms() override { loop_->stop(); }

 private:
  void echo(const Fd& fd) {
    datagrams_.with_names();
    const int n = ::recvmmsg(fd.get(), datagrams_.headers.data(), Datagrams::kMost, 0, nullptr);
    if (n > 0)
      (void)::sendmmsg(fd.get(), datagrams_.headers.data(), static_cast<unsigned>(n), MSG_NOSIGNAL);
  }

  const std::vector<Fd> sockets_;
  Datagrams datagrams_;
};

// Players of any traffic: what they count, and how often something went wrong.
class Players : public Loop {
 public:
  using Loop::Loop;
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::uint64_t> failed{0};
};

class Streams final : public Players {
 public:
  Streams(std::unique_ptr<EventLoop> loop, const SocketAddress& door) : Players(std::move(loop)) {
    for (int i = 0; i < kStreams; ++i) {
      Result<Fd> fd = edge::connect_tcp(door);
      if (fd) sockets_.push_back(std::move(*fd));
    }
    loop_->post([this] {
      for (const Fd& fd : sockets_)
        loop_->watch(fd.get(), EventLoop::kReadable, [this, &fd](std::uint32_t) { read(fd); });
    });
  }
  ~Streams() override { loop_->stop(); }

 private:
  void read(const Fd& fd) {
    // The kernel throws the bytes away without copying them: reading costs little here.
    const ssize_t n = ::recv(fd.get(), nullptr, 4u << 20, MSG_TRUNC);
    if (n > 0) {
      done += static_cast<std::uint64_t>(n);
    } else if (n == 0 || errno != EAGAIN) {
      ++failed;
      loop_->forget(fd.get());
    }
  }
  std::vector<Fd> sockets_;
};

class Calls final : public Players {
 public:
  Calls(std::unique_ptr<EventLoop> loop, const SocketAddress& door)
      : Players(std::move(loop)), door_(door) {
    for (int i = 0; i < kCallsAtOnce; ++i) callers_.emplace_back(*this);
    loop_->post([this] {
      for (Caller& caller : callers_) begin(caller);
    });
  }
  ~Calls() override { loop_->stop(); }

 private:
  struct Caller final : Watcher {
    explicit Caller(Calls& its_calls) : calls(its_calls) {}
    void on_events(std::uint32_t) override { calls.step(*this); }
    Calls& calls;
    Fd fd;
    bool asked = false;
    std::size_t heard = 0;
  };

  void begin(Caller& caller) {
    Result<Fd> fd = edge::connect_tcp(door_);
    if (!fd) {
      ++failed;
      loop_->after(std::chrono::milliseconds{10}, [this, &caller] { begin(caller); });
      return;
    }
    caller.fd = std::move(*fd);
    caller.asked = false;
    caller.heard = 0;
    loop_->watch(caller.fd.get(), EventLoop::kWritable, caller);
  }

  void step(Caller& caller) {
    std::array<char, kCallBytes> bytes{};
    if (!caller.asked) {
      caller.asked =
          ::send(caller.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == kCallBytes;
      if (!caller.asked) return end(caller, false);
      return loop_->change(caller.fd.get(), EventLoop::kReadable);
    }
    const ssize_t n = ::recv(caller.fd.get(), bytes.data(), bytes.size(), 0);
    if (n > 0) {
      caller.heard += static_cast<std::size_t>(n);
    } else if (n == 0 || errno != EAGAIN) {
      end(caller, n == 0 && caller.heard == kCallBytes);
    }
  }

  void end(Caller& caller, bool good) {
    ++(good ? done : failed);
    loop_->forget(caller.fd.get());
    caller.fd.close();
    begin(caller);
  }

  const SocketAddress door_;
  std::list<Caller> callers_;
};

class DatagramPlayers final : public Players {
 public:
  DatagramPlayers(std::unique_ptr<EventLoop> loop, const SocketAddress& door)
      : Players(std::move(loop)) {
    for (int i = 0; i < kUdpPlayers; ++i) {
      Result<Fd> fd = edge::connect_udp(door);
      if (fd) players_.push_back({std::move(*fd)});
    }
    loop_->post([this] {
      for (Player& player : players_) {
        loop_->watch(player.fd.get(), EventLoop::kReadable,
                     [this, &player](std::uint32_t) { hear(player); });
        say(player, kWindow);
      }
      look_for_losses();
    });
  }
  ~DatagramPlayers() override { loop_->stop(); }

 private:
  struct Player {
    Fd fd;
    std::uint64_t heard = 0;
    std::uint64_t heard_before = 0;
  };

  void say(Player& player, unsigned count) {
    const int sent = ::sendmmsg(player.fd.get(), out_.headers.data(), count, MSG_NOSIGNAL);
    if (sent < static_cast<int>(count)) ++failed;
  }
  void hear(Player& player) {
    const int n = ::recvmmsg(player.fd.get(), in_.headers.data(), Datagrams::kMost, 0, nullptr);
    if (n <= 0) return;
    player.heard += static_cast<std::uint64_t>(n);
    done += static_cast<std::uint64_t>(n);
    say(player, static_cast<unsigned>(n));
  }
  // A player whose datagrams all got lost begins again.
  void look_for_losses() {
    for (Player& player : players_) {
      if (player.heard == std::exchange(player.heard_before, player.heard)) say(player, kWindow);
    }
    loop_->after(kLossCheck, [this] { look_for_losses(); });
  }

  std::vector<Player> players_;
  Datagrams in_;
  Datagrams out_;
};

Result<std::unique_ptr<Players>> begin(Traffic traffic, const SocketAddress& door) {
  Result<std::unique_ptr<EventLoop>> loop = EventLoop::start("players");
  if (!loop) return pass(loop);
  switch (traffic) {
    case Traffic::stream: return std::make_unique<Streams>(std::move(*loop), door);
    case Traffic::calls: return std::make_unique<Calls>(std::move(*loop), door);
    case Traffic::datagrams: return std::make_unique<DatagramPlayers>(std::move(*loop), door);
  }
  return fail(Code::internal, "no such traffic");
}

}  // namespace

std::vector<model::Target> rooms_at(model::Port port) {
  std::vector<model::Target> out;
  for (int i = 0; i < kRooms; ++i) out.push_back({fmt::format("127.0.0.{}", 2 + i), port});
  return out;
}

Result<std::unique_ptr<Running>> open_rooms(Traffic traffic, model::Port port) {
  std::vector<Fd> sockets;
  for (const model::Target& at : rooms_at(port)) {
    Result<Fd> fd = traffic == Traffic::datagrams ? edge::bind_udp(at) : edge::listen_tcp(at);
    if (!fd) return pass(fd);
    sockets.push_back(std::move(*fd));
  }
  Result<std::unique_ptr<EventLoop>> loop = EventLoop::start("rooms");
  if (!loop) return pass(loop);
  if (traffic == Traffic::datagrams)
    return std::make_unique<UdpRooms>(std::move(*loop), std::move(sockets));
  return std::make_unique<TcpRooms>(std::move(*loop), traffic == Traffic::stream,
                                    std::move(sockets));
}

Result<double> measure(Traffic traffic, const model::Target& door, std::chrono::milliseconds span) {
  const Result<SocketAddress> address = SocketAddress::of(door);
  if (!address) return fail(address.error());
  Result<std::unique_ptr<Players>> players = begin(traffic, *address);
  if (!players) return pass(players);
  std::this_thread::sleep_for(kWarmUp);
  const auto begun = std::chrono::steady_clock::now();
  const std::uint64_t before = (*players)->done;
  std::this_thread::sleep_for(span);
  const std::uint64_t after = (*players)->done;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  const std::uint64_t failed = (*players)->failed;
  if (after == before || (traffic != Traffic::datagrams && failed > (after - before) / 100 + 1))
    return fail(Code::internal, "{}: {} done, {} failed", model::to_string(door), after - before,
                failed);
  return static_cast<double>(after - before) / took.count();
}

}  // namespace berth::bench
