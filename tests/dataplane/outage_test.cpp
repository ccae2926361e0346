// Players stay connected while nobody reaches the API server, and for a while after another replica
// leads.
#include <gtest/gtest.h>

#include "edge/test_support.h"
#include "outage_house.h"

namespace berth::testing {
namespace {

using edge::testing::Client;
using edge::testing::eventually;

constexpr int kPlayers = 50;

std::vector<Client> connect(const model::Target& door, int players) {
  std::vector<Client> out;
  for (int i = 0; i < players; ++i) out.push_back(Client::tcp(door));
  return out;
}

int answered(std::vector<Client>& players) {
  int count = 0;
  for (Client& player : players) {
    const std::string said = "ahoy";
    if (player.send(said) && player.read(said.size()) == said) ++count;
  }
  return count;
}

class Outage : public ::testing::Test {
 protected:
  void SetUp() override {
    auto house = OutageHouse::open();
    ASSERT_TRUE(house) << house.error().to_string();
    house_ = std::move(*house);
    players_ = connect(house_->door(), kPlayers);
    ASSERT_EQ(answered(players_), kPlayers);
  }

  std::unique_ptr<OutageHouse> house_;
  std::vector<Client> players_;
};

TEST_F(Outage, ConnectionsSurviveALostLease) {
  house_->take_server_away();
  ASSERT_TRUE(eventually([&] { return !house_->leading(); }));
  EXPECT_EQ(answered(players_), kPlayers);
  std::vector<Client> late = connect(house_->door(), 1);
  EXPECT_EQ(answered(late), 1) << "new players come in, too";

  house_->bring_server_back();
  ASSERT_TRUE(eventually([&] { return house_->leading(); }));
  EXPECT_EQ(answered(players_), kPlayers);
  EXPECT_FALSE(house_->end()) << house_->end()->to_string();
}

TEST_F(Outage, WhoIsFollowedByAnotherTakesNobodyNewAndLetsPlayersFinish) {
  ASSERT_TRUE(house_->give_lease_away());
  // A listening socket that is closed refuses.
  ASSERT_TRUE(eventually([&] { return !Client::tcp(house_->door()).connected(); }));
  EXPECT_FALSE(house_->leading());
  EXPECT_EQ(answered(players_), kPlayers);
  EXPECT_FALSE(house_->end()) << "it waits for its players";
  players_.clear();
  ASSERT_TRUE(eventually([&] { return house_->end().has_value(); }));
  EXPECT_EQ(house_->end()->code, Code::conflict);
}

// A controller that has no API server to begin with, asked as the kubelet does.
class Start : public ::testing::Test {
 protected:
  void SetUp() override {
    config_.identity = "early";
    app_ = std::make_unique<app::App>(tasks_, transport_,
                                      kube::fixed_config("https://127.0.0.1:1", {}), config_,
                                      lb::Drivers{}, Random::from_entropy());
    main_ = tasks_.spawn("controller", [this](std::stop_token stop) {
      ran_ = app::serve(*app_, config_, {.tasks = tasks_, .stop = std::move(stop)}, {},
                        [this](const std::string& ops) {
                          const MutexLock lock(mu_);
                          ops_ = ops;
                        });
      ended_ = true;
    });
  }
  std::string ops() const {
    const MutexLock lock(mu_);
    return ops_;
  }
  // Of a server that is not there, no status.
  net::Response ask(const std::string& path) {
    const std::string url = ops();
    if (url.empty()) return {};
    const Context context = Context{.tasks = tasks_}.within(std::chrono::seconds{5});
    return transport_.call(context, {.url = url + path}).value_or(net::Response{});
  }

  ThreadTasks tasks_;
  net::CurlTransport transport_;
  app::Config config_;
  std::unique_ptr<app::App> app_;
  std::atomic<bool> ended_ = false;
  Result<> ran_;
  mutable Mutex mu_;
  std::string ops_ GUARDED_BY(mu_);
  std::unique_ptr<Task> main_;  // last: joined first
};

// The liveness probe must not end a controller that waits for its server, and whoever asks why it
// is not ready hears it.
TEST_F(Start, WithoutAnApiServerItWaitsAndSaysSoToWhoeverAsks) {
  EXPECT_TRUE(eventually([&] {
    return ask("/readyz").body.find("waiting for the API server") != std::string::npos;
  })) << "at '"
      << ops() << "': " << ask("/readyz").body;
  EXPECT_EQ(ask("/livez").status, 200);
  EXPECT_EQ(ask("/readyz").status, 500);
  EXPECT_EQ(ask("/metrics").status, 200);
  EXPECT_FALSE(ended_);
  main_->request_stop();
  main_->join();
  EXPECT_TRUE(ran_) << ran_.error().to_string();
}

}  // namespace
}  // namespace berth::testing
