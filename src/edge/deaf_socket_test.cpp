// A listening socket that the kernel did not watch at first is watched later.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "edge/tcp_proxy.h"
#include "edge/test_support.h"
#include "edge/udp_proxy.h"

namespace berth::edge {
namespace {

using model::Transport;
using namespace testing;

class DeafSocketTest : public ::testing::Test {
 protected:
  DeafSocketTest()
      : room_(edge_.open_room("a")),
        tcp_(*loop_, budget_, seats_,
             {.connect_patience = std::chrono::seconds{3},
              .place = [this](Accepted accepted) { tcp_.carry(std::move(accepted)); },
              .on_end = [] {}}),
        udp_(*loop_, budget_, quota_, seats_, {.shed_elsewhere = [](const Crowded&) {}}) {}
  ~DeafSocketTest() override { loop_->stop(); }

  ListenerPtr listener_of(Transport protocol) {
    auto listener = std::make_shared<Listener>(Listener::Options{.protocol = protocol});
    (void)listener->set_targets({{room_}});
    return listener;
  }
  void run_on_loop(std::function<void()> work) {
    std::atomic<bool> done{false};
    loop_->post([&] {
      work();
      done = true;
    });
    ASSERT_TRUE(eventually([&] { return done.load(); }));
  }
  // Opened with a file that cannot be watched, which then becomes the socket.
  template <class Proxy>
  void open_deaf(Proxy& proxy, Transport protocol, const Fd& socket) {
    Fd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const int number = file.get();
    const auto shared = std::make_shared<Fd>(std::move(file));
    ASSERT_TRUE(budget_.take_listening());
    run_on_loop([&] { proxy.open(listener_of(protocol), std::move(*shared), 0); });
    ASSERT_EQ(::dup2(socket.get(), number), number);
  }

  Edge edge_;
  const model::Target room_;
  FdBudget budget_{100};
  SessionQuota quota_{100, 1};
  Seats seats_{{.per_listener = 100, .per_client = 100}};
  std::unique_ptr<EventLoop> loop_ = EventLoop::start("test").value();
  TcpProxy tcp_;
  UdpProxy udp_;
};

TEST_F(DeafSocketTest, ATcpClientIsAcceptedThen) {
  const model::Target at = edge_.room_at();
  const Fd socket = listen_tcp(at).value();
  open_deaf(tcp_, Transport::tcp, socket);
  EXPECT_EQ(Client::tcp(at).read(1), "a");
}

TEST_F(DeafSocketTest, AUdpClientIsHeardThen) {
  const model::Target at = edge_.room_at();
  const Fd socket = bind_udp(at).value();
  open_deaf(udp_, Transport::udp, socket);
  Client player = Client::udp(at);
  EXPECT_EQ(player.ask("x"), "x");
}

}  // namespace
}  // namespace berth::edge
