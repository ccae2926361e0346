// As many at one time as file descriptors allow.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "edge/test_support.h"
#include "support/subprocess.h"

namespace berth::edge {
namespace {

using model::Transport;
using namespace testing;

// What each of the two processes needs beside its players.
constexpr std::size_t kOtherFds = 200;
constexpr std::size_t kMostPlayers = 12'000;

std::size_t file_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return std::min<std::size_t>(limit.rlim_cur, 1u << 20);
}

// Players come before the first word is said and go after the last: if all words were heard, on no
// more connections than there are players, then all of these were there at one time.
struct Meeting {
  std::size_t heard = 0;
  ListenerSnapshot seen{};
};

Meeting meet(Transport protocol, std::size_t players) {
  Edge edge({.threads = 2,
             .fd_budget = file_descriptors() - kOtherFds,
             .listening_files = 1,
             .connections_per_listener = players,
             .connections_per_client = players,
             .udp_idle = std::chrono::minutes{10}});
  const model::Target room{Edge::room_ip(), Edge::fresh_port()};
  const auto door = edge.open_door(protocol, {{room}});
  const auto crowd =
      berth::testing::run({.program = BERTH_CROWD,
                           .args = {protocol == Transport::tcp ? "tcp" : "udp", door.at.ip,
                                    std::to_string(door.at.port), room.ip,
                                    std::to_string(room.port), std::to_string(players)},
                           .env = {}},
                          "", std::chrono::minutes{3});
  EXPECT_EQ(crowd.exit_code, 0) << crowd.err;
  return {.heard = static_cast<std::size_t>(std::strtoull(crowd.out.c_str(), nullptr, 10)),
          .seen = edge.seen(door.id)};
}

TEST(Crowd, EveryTcpPlayerHearsItsOwnWords) {
  const std::size_t players = std::min(kMostPlayers, (file_descriptors() - kOtherFds) / 2 - 10);
  const Meeting meeting = meet(Transport::tcp, players);
  std::printf("%zu TCP connections at one time\n",
              static_cast<std::size_t>(meeting.seen.connections));
  EXPECT_EQ(meeting.heard, 2 * players);
  EXPECT_EQ(meeting.seen.connections, players);
  EXPECT_EQ(meeting.seen.refused(), 0u);
  EXPECT_EQ(meeting.seen.bytes_in, meeting.seen.bytes_out);
}

TEST(Crowd, EveryUdpPlayerHearsItsOwnWords) {
  const std::size_t players = std::min<std::size_t>(5000, file_descriptors() - kOtherFds - 10);
  const Meeting meeting = meet(Transport::udp, players);
  std::printf("%zu UDP sessions at one time\n", static_cast<std::size_t>(meeting.seen.connections));
  EXPECT_EQ(meeting.heard, 2 * players);
  EXPECT_EQ(meeting.seen.connections, players);
  EXPECT_EQ(meeting.seen.dropped, 0u);
}

TEST(Crowd, PastTheBudgetPlayersAreTurnedAwayAndTheOthersPlayOn) {
  constexpr std::size_t kPlaces = 200;
  Edge edge({.threads = 2, .fd_budget = 2 * kPlaces + 1, .listening_files = 1});
  const auto door = edge.open_door(Transport::tcp, {{edge.open_room()}});
  std::vector<Client> players;
  for (std::size_t i = 0; i < 2 * kPlaces; ++i) players.push_back(Client::tcp(door.at));
  std::size_t playing = 0;
  for (std::size_t i = 0; i < players.size(); ++i) {
    const std::string words = fmt::format("player {}", i);
    playing += players[i].ask(words) == words ? 1 : 0;
  }
  EXPECT_EQ(playing, kPlaces);
  EXPECT_EQ(edge.seen(door.id).refused(), kPlaces);
}

}  // namespace
}  // namespace berth::edge
