// Players of a room while nobody reaches the API server for so long that the controller loses its
// lease.

#include "bench.h"
#include "dataplane/outage_house.h"
#include "edge/test_support.h"

namespace berth::bench {
namespace {

using edge::testing::Client;
using edge::testing::eventually;

constexpr int kPlayers = 1000;

Result<std::vector<Line>> kept_through_outage(Environment&) {
  auto house = testing::OutageHouse::open();
  if (!house) return pass(house);
  std::vector<Client> players;
  for (int i = 0; i < kPlayers; ++i) players.push_back(Client::tcp((*house)->door()));
  const auto answered = [&] {
    return std::ranges::count_if(
        players, [](Client& player) { return player.send("ahoy") && player.read(4) == "ahoy"; });
  };
  const auto open = answered();
  (*house)->take_server_away();
  if (!eventually([&] { return !(*house)->leading(); }))
    return fail(Code::timeout, "the lease was not lost");
  (*house)->bring_server_back();
  if (!eventually([&] { return (*house)->leading() || (*house)->end(); }))
    return fail(Code::timeout, "the lead did not come back");
  return std::vector<Line>{
      {"edge-kept-through-outage",
       "TCP connections that live on when the API server is away until the lease is lost, beside "
       "those that were open",
       static_cast<double>(answered()), static_cast<double>(open), "conn", "higher"}};
}

}  // namespace

Bench outage_bench() { return {{"edge-kept-through-outage"}, kept_through_outage}; }

}  // namespace berth::bench
