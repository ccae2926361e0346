#include "edge/tcp_forwarder.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/random.h"
#include "base/threads.h"
#include "edge/echo_server.h"

namespace berth::edge {
namespace {

constexpr int kTimeoutMs = 20'000;

class TcpForwarderTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { set_next_port(); }
  // Ports outside of what the system hands out by itself, on addresses that nothing else uses.
  static void set_next_port() { next_port_ = static_cast<model::Port>(21000 + ::getpid() % 5000); }
  model::Target fresh(const char* ip) { return {ip, next_port_++}; }

  void forward(const model::Target& from, std::vector<model::Target> to) {
    const Result<> applied = forwarder_->apply(
        context_, {.address = from.ip, .port = from.port, .targets = std::move(to)});
    ASSERT_TRUE(applied) << applied.error().to_string();
  }

  static inline model::Port next_port_ = 0;
  ThreadTasks tasks_;
  const Context context_{.tasks = tasks_};
  std::unique_ptr<TcpForwarder> forwarder_ = TcpForwarder::start().value();
};

std::string random_bytes(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random.next());
  return out;
}

TEST_F(TcpForwarderTest, BytesComeBackAsTheyWereSent) {
  const auto room = fresh("127.16.9.1"), door = fresh("127.64.9.1");
  const auto echo = EchoServer::start(room).value();
  forward(door, {room});
  EXPECT_EQ(ask_over_tcp(door, "ahoy", kTimeoutMs).value(), "ahoy");
  const std::string large = random_bytes(8u << 20, 1);
  EXPECT_TRUE(ask_over_tcp(door, large, kTimeoutMs).value() == large) << "8 MiB came back changed";
}

TEST_F(TcpForwarderTest, ConnectionsDoNotMixUpTheirBytes) {
  const auto room = fresh("127.16.9.1"), door = fresh("127.64.9.1");
  const auto echo = EchoServer::start(room).value();
  forward(door, {room});
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> players;
    for (std::uint64_t p = 0; p < 16; ++p) {
      players.emplace_back([&, p] {
        for (std::uint64_t i = 0; i < 20; ++i) {
          const std::string said = random_bytes(1 + p * 4099 + i * 977, p * 100 + i);
          const auto heard = ask_over_tcp(door, said, kTimeoutMs);
          if (!heard || *heard != said) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(TcpForwarderTest, NothingListensWithoutTargets) {
  const auto room = fresh("127.16.9.1"), door = fresh("127.64.9.1");
  const auto echo = EchoServer::start(room).value();
  forward(door, {});
  EXPECT_FALSE(ask_over_tcp(door, "ahoy", kTimeoutMs));
  forward(door, {room});
  EXPECT_TRUE(ask_over_tcp(door, "ahoy", kTimeoutMs));
  forward(door, {});
  EXPECT_FALSE(ask_over_tcp(door, "ahoy", kTimeoutMs));
}

TEST_F(TcpForwarderTest, ARoomThatIsReplacedLosesItsPlayers) {
  const auto first = fresh("127.16.9.1"), second = fresh("127.16.9.2"), door = fresh("127.64.9.1");
  const auto one = EchoServer::start(first, "one\n").value();
  const auto two = EchoServer::start(second, "two\n").value();
  forward(door, {first});
  const Fd player = connect_tcp(door).value();
  pollfd readable{.fd = player.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&readable, 1, kTimeoutMs), 1);
  char buffer[16];
  ASSERT_EQ(::recv(player.get(), buffer, sizeof buffer, 0), 4);
  forward(door, {second});
  ASSERT_EQ(::poll(&readable, 1, kTimeoutMs), 1) << "the old connection is still open";
  EXPECT_LE(::recv(player.get(), buffer, sizeof buffer, 0), 0);
  EXPECT_EQ(ask_over_tcp(door, "", kTimeoutMs).value(), "two\n");
}

TEST_F(TcpForwarderTest, ADeadRoomResetsItsPlayer) {
  const auto nobody = fresh("127.16.9.1"), door = fresh("127.64.9.1");
  forward(door, {nobody});
  const auto heard = ask_over_tcp(door, "ahoy", kTimeoutMs);
  EXPECT_FALSE(heard && !heard->empty());
}

TEST_F(TcpForwarderTest, APortThatIsTakenIsReportedWithItsAddress) {
  const auto door = fresh("127.64.9.1");
  const auto squatter = EchoServer::start(door).value();
  const Result<> applied = forwarder_->apply(
      context_, {.address = door.ip, .port = door.port, .targets = {{"127.0.0.1", 1}}});
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, Code::conflict);
  EXPECT_NE(applied.error().message.find(model::to_string(door)), std::string::npos);
}

TEST_F(TcpForwarderTest, UdpIsRefusedByName) {
  const Result<> applied = forwarder_->apply(context_, {.address = "127.64.9.1",
                                                        .protocol = model::Protocol::udp,
                                                        .port = 1,
                                                        .targets = {{"127.0.0.1", 1}}});
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, Code::unsupported);
}

TEST_F(TcpForwarderTest, AnIdHasTheSameAddressEverywhere) {
  EXPECT_EQ(forwarder_->address_of("edge:demo"),
            TcpForwarder::start().value()->address_of("edge:demo"));
  EXPECT_NE(forwarder_->address_of("edge:demo"), forwarder_->address_of("edge:other"));
}

}  // namespace
}  // namespace berth::edge
