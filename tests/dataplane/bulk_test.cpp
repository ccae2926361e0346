// Long transfers: no byte is lost, changed or given to somebody else.

#include <gtest/gtest.h>

#include "edge/test_support.h"

namespace berth::edge {
namespace {

using model::Transport;
using namespace testing;

class BulkTest : public ::testing::Test {
 protected:
  Edge edge_{{.threads = 2}};
  HeldDoor door_{edge_};
};

// Sends in pieces of odd sizes; with `lazy`, in bursts.
bool send_in_pieces(const Client& client, std::string_view bytes, Random random, bool lazy) {
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), 1 + random.below(200'000));
    if (!client.send(bytes.substr(0, size))) return false;
    bytes.remove_prefix(size);
    if (lazy && random.chance(0.1)) std::this_thread::yield();
  }
  client.end();
  return true;
}

// Reads to the end, in small pieces and with pauses when it is slow.
std::string read_to_end(Client& client, Random random, bool slow) {
  std::string out;
  for (;;) {
    const std::string more = client.read_some(slow ? 1 + random.below(20'000) : 256u << 10);
    if (more.empty()) return out;
    out += more;
    if (slow && random.chance(0.02)) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

TEST_F(BulkTest, BothWaysAtOnceWithFastAndSlowReaders) {
  constexpr std::size_t kLines = 12;
  const std::uint64_t seed = Random::from_entropy().next();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::atomic<std::uint64_t> carried{0};
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < kLines; ++i) {
      all.emplace_back([&, i] {
        Random random(seed + i);
        Line line = door_.connect();
        const std::string there = random_bytes(1 + random.below(16u << 20), seed ^ i);
        const std::string back = random_bytes(1 + random.below(16u << 20), seed ^ (i + 1000));
        const bool slow = i % 3 == 0;
        std::string heard_there, heard_back;
        {
          std::vector<std::jthread> ends;
          ends.emplace_back(
              [&, r = random.fork()] { send_in_pieces(line.player, there, r, slow); });
          ends.emplace_back([&, r = random.fork()] { send_in_pieces(line.room, back, r, !slow); });
          ends.emplace_back(
              [&, r = random.fork()] { heard_there = read_to_end(line.room, r, slow); });
          ends.emplace_back(
              [&, r = random.fork()] { heard_back = read_to_end(line.player, r, !slow && i % 2); });
        }
        wrong += heard_there != there || heard_back != back;
        carried += there.size() + back.size();
      });
    }
  }
  std::printf("%llu MiB\n", static_cast<unsigned long long>(carried >> 20));
  EXPECT_EQ(wrong, 0);
  const auto seen = door_.seen();
  EXPECT_EQ(seen.bytes_in + seen.bytes_out, carried);
}

TEST_F(BulkTest, AResetInTheMiddleLeavesATrueBeginning) {
  const std::uint64_t seed = Random::from_entropy().next();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Random random(seed);
  for (int i = 0; i < 60; ++i) {
    Line line = door_.connect();
    const std::string said = random_bytes(4u << 20, seed + static_cast<std::uint64_t>(i));
    const std::size_t until = random.below(said.size());
    Client& speaker = i % 2 == 0 ? line.player : line.room;
    Client& hearer = i % 2 == 0 ? line.room : line.player;
    std::string heard;
    {
      std::jthread reading([&, r = random.fork()] { heard = read_to_end(hearer, r, false); });
      ASSERT_TRUE(speaker.send(std::string_view(said).substr(0, until)));
      speaker.reset();
    }
    EXPECT_EQ(hearer.error, ECONNRESET) << i;
    ASSERT_LE(heard.size(), until);
    ASSERT_TRUE(said.starts_with(heard)) << "line " << i;
  }
  EXPECT_TRUE(eventually([&] { return door_.seen().active == 0; }));
}

TEST_F(BulkTest, ShortConnectionsInARow) {
  const auto door = edge_.open_door(Transport::tcp, {{edge_.open_room()}, {edge_.open_room()}});
  constexpr int kPlayers = 8;
  constexpr int kTimes = 400;
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> players;
    for (int p = 0; p < kPlayers; ++p) {
      players.emplace_back([&, p] {
        for (int i = 0; i < kTimes; ++i) {
          const std::string words = fmt::format("{}/{}", p, i);
          const auto heard = ask_over_tcp(door.at, words, kTimeoutMs);
          wrong += !heard || *heard != words;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(edge_.seen(door.id).connections, kPlayers * kTimes);
}

}  // namespace
}  // namespace berth::edge
