#include "edge/datagram_writer.h"

#include <gtest/gtest.h>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using namespace testing;

class DatagramWriterTest : public ::testing::Test {
 protected:
  DatagramWriterTest() {
    for (auto* socket : {&first_, &second_}) {
      const model::Target at{Edge::room_ip(), Edge::fresh_port()};
      *socket = {SocketAddress::of(at).value(), bind_udp(at).value()};
    }
  }
  struct Receiver {
    SocketAddress at{};
    Fd fd{};
  };
  void say(std::size_t size, SocketAddress* to) {
    texts_.push_back(random_bytes(size, texts_.size()));
    all_.push_back({nullptr, size, to});
  }
  DatagramWriter::Sent send(const Fd& fd) {
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i].bytes = texts_[i].data();
    return writer_.send(fd, all_);
  }
  // What comes next must be the n-th.
  void expect(Receiver& receiver, std::size_t n) {
    std::string heard(70'000, '\0');
    pollfd wanted{.fd = receiver.fd.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&wanted, 1, kTimeoutMs), 1) << n;
    const ssize_t size = ::recv(receiver.fd.get(), heard.data(), heard.size(), 0);
    ASSERT_GE(size, 0);
    heard.resize(static_cast<std::size_t>(size));
    EXPECT_TRUE(heard == texts_[n]) << n << " came with " << size << " bytes";
  }

  Receiver first_, second_;
  DatagramWriter writer_;
  std::vector<std::string> texts_;
  std::vector<Datagram> all_;
};

TEST_F(DatagramWriterTest, DatagramsOfAllSizesKeepTheirBordersAndOrder) {
  const Fd fd = connect_udp(first_.at).value();
  for (int i = 0; i < 10; ++i) say(100, nullptr);
  for (const std::size_t size : {50u, 100u, 100u, 0u, 0u, 1452u, 1452u, 3u, 1453u, 1453u, 60'000u})
    say(size, nullptr);
  for (int i = 0; i < 80; ++i) say(1200, nullptr);  // more than one call and one piece take
  const auto sent = send(fd);
  EXPECT_EQ(sent.datagrams, all_.size());
  EXPECT_EQ(sent.dropped, 0u);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    expect(first_, i);
    bytes += all_[i].size;
  }
  EXPECT_EQ(sent.bytes, bytes);
}

TEST_F(DatagramWriterTest, ReceiversAreNotMixedUp) {
  const Fd fd = bind_udp({Edge::room_ip(), Edge::fresh_port()}).value();
  for (int i = 0; i < 20; ++i) say(100, i % 5 < 3 ? &first_.at : &second_.at);
  EXPECT_EQ(send(fd).datagrams, 20u);
  for (std::size_t i = 0; i < 20; ++i) expect(i % 5 < 3 ? first_ : second_, i);
}

TEST_F(DatagramWriterTest, OneThatIsRefusedDoesNotStopTheOthers) {
  const Fd fd = connect_udp(first_.at).value();
  say(100, nullptr);
  first_.fd.close();
  (void)send(fd);
  first_.fd = bind_udp(first_.at.to_target()).value();
  // The answer to the datagram before comes with this one.
  say(200, nullptr);
  const auto sent = send(fd);
  EXPECT_EQ(sent.error, ECONNREFUSED);
  EXPECT_EQ(sent.dropped + sent.datagrams, 2u);
  EXPECT_EQ(sent.dropped, 1u);
}

}  // namespace
}  // namespace berth::edge
