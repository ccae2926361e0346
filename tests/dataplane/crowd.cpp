// A crowd and the room that it meets in: opens the room, connects all players through the door at
// once, lets each hear its own words twice, and prints how many did.
//
//   dataplane_crowd <tcp|udp> <door ip> <door port> <room ip> <room port> <players>

#include <cstdio>
#include <cstdlib>

#include "edge/test_support.h"

namespace berth::edge::testing {
namespace {

// Told apart by their words.
std::string words_of(std::size_t player, int round) {
  return fmt::format("player {} round {} {}", player, round,
                     std::string(player % 977, static_cast<char>('a' + player % 26)));
}

int meet(bool tcp, const model::Target& door, const model::Target& room, std::size_t players) {
  const auto station = EchoStation::start(players + 1).value();
  const auto place =
      station->open({.protocol = tcp ? model::Transport::tcp : model::Transport::udp, .at = room})
          .value();
  std::vector<Client> all;
  for (std::size_t i = 0; i < players; ++i)
    all.push_back(tcp ? Client::tcp(door) : Client::udp(door));
  std::size_t heard = 0;
  for (int round = 0; round < 2; ++round) {
    // Datagrams in small groups: more at a time would overflow the room's socket.
    const std::size_t group = tcp ? players : 50;
    for (std::size_t first = 0; first < players; first += group) {
      const std::size_t last = std::min(players, first + group);
      for (std::size_t i = first; i < last; ++i) (void)all[i].send(words_of(i, round));
      for (std::size_t i = first; i < last; ++i) {
        const std::string words = words_of(i, round);
        heard += all[i].read(words.size()) == words ? 1 : 0;
      }
    }
  }
  std::printf("%zu\n", heard);
  return 0;
}

}  // namespace
}  // namespace berth::edge::testing

int main(int argc, char** argv) {
  using berth::model::Port;
  if (argc != 7) return 2;
  const auto port = [&](int i) { return static_cast<Port>(std::atoi(argv[i])); };
  return berth::edge::testing::meet(std::string_view(argv[1]) == "tcp", {argv[2], port(3)},
                                    {argv[4], port(5)},
                                    static_cast<std::size_t>(std::atol(argv[6])));
}
