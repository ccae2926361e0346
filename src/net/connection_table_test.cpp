#include "net/connection_table.h"

#include <gtest/gtest.h>

#include "net/server_connection.h"

namespace berth::net {
namespace {

using Grant = ConnectionTable::Grant;
using Place = ConnectionTable::Place;
using Stage = ConnectionTable::Stage;
using Verdict = ConnectionTable::Verdict;

class FakeConnection final : public ServerConnection {
 public:
  void start() override {}
  void drain() override {}
  void abort() override {}
  void obey() override { ++judged; }
  void resume() override { ++resumed; }

  int judged = 0;
  int resumed = 0;
};

// Four connections at most; 100 bytes are each one's own, and 400 are for all.
class ConnectionTableTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeConnection> connect(Stage stage = Stage::idle) {
    auto connection = std::make_shared<FakeConnection>();
    EXPECT_EQ(table.add(connection), Place::taken);
    if (stage != Stage::idle) table.enter(connection.get(), stage);
    return connection;
  }
  std::shared_ptr<FakeConnection> holding(std::size_t bytes, Stage stage) {
    auto connection = connect(Stage::arriving);
    EXPECT_EQ(table.hold(connection.get(), bytes), Grant::given);
    table.enter(connection.get(), stage);
    return connection;
  }
  Verdict verdict(const std::shared_ptr<FakeConnection>& connection) {
    return table.verdict(connection.get());
  }

  int places = 0;
  ConnectionTable table{{.connections = 4, .bytes = 800}, [this] { ++places; }};
};

TEST_F(ConnectionTableTest, WhoWasIdleForLongestGoesAndTheNewOneIsCalledWhenItIsGone) {
  const auto first = connect();
  const auto second = connect();
  const auto third = connect(Stage::arriving);
  const auto fourth = connect(Stage::answering);
  table.enter(first.get(), Stage::arriving);
  table.enter(first.get(), Stage::idle);
  const auto fifth = std::make_shared<FakeConnection>();
  EXPECT_EQ(table.add(fifth), Place::soon);
  EXPECT_EQ(verdict(second), Verdict::leave);
  EXPECT_EQ(second->judged, 1);
  EXPECT_EQ(first->judged + third->judged + fourth->judged, 0);
  EXPECT_EQ(places, 0);
  table.remove(second.get());
  EXPECT_EQ(places, 1);
  EXPECT_EQ(table.add(fifth), Place::taken);
  EXPECT_EQ(table.statistics().evicted, 1u);
}

TEST_F(ConnectionTableTest, WhoeverHasAWholeRequestStaysAndAnotherGoes) {
  const auto lucky = connect(Stage::arriving);
  const auto next = connect(Stage::arriving);
  const auto busy = connect(Stage::answering);
  const auto last = connect(Stage::answering);
  const auto guest = std::make_shared<FakeConnection>();
  EXPECT_EQ(table.add(guest), Place::soon);
  table.enter(lucky.get(), Stage::answering);  // its last byte came in the meantime
  EXPECT_EQ(verdict(lucky), Verdict::stay);
  EXPECT_EQ(places, 1);
  EXPECT_EQ(table.add(guest), Place::soon);
  EXPECT_EQ(verdict(next), Verdict::leave);
}

TEST_F(ConnectionTableTest, RepliesAreCutOnlyWhenNothingElseIsLeft) {
  const auto replying = connect(Stage::replying);
  const auto idle = connect();
  const auto busy = connect(Stage::answering);
  const auto last = connect(Stage::answering);
  const auto guest = std::make_shared<FakeConnection>();
  EXPECT_EQ(table.add(guest), Place::soon);
  EXPECT_EQ(verdict(idle), Verdict::leave);
  table.enter(idle.get(), Stage::answering);
  EXPECT_EQ(table.add(guest), Place::soon);
  EXPECT_EQ(verdict(replying), Verdict::leave);
  table.enter(replying.get(), Stage::answering);
  EXPECT_EQ(table.add(guest), Place::none);
  EXPECT_EQ(table.statistics().refused, 1u);
}

TEST_F(ConnectionTableTest, WithinItsShareNobodyWaits) {
  const auto large = holding(500, Stage::answering);
  for (int i = 0; i < 3; ++i) holding(100, Stage::arriving);
  EXPECT_EQ(table.statistics().bytes_in_flight, 800u);
  EXPECT_EQ(table.hold(large.get(), 501), Grant::never);
}

TEST_F(ConnectionTableTest, TheUnfinishedRequestThatBeganFirstGivesWay) {
  const auto oldest = holding(300, Stage::arriving);
  const auto younger = holding(250, Stage::arriving);
  const auto asking = connect(Stage::arriving);
  EXPECT_EQ(table.hold(asking.get(), 200), Grant::later);
  EXPECT_EQ(verdict(oldest), Verdict::yield);
  EXPECT_EQ(table.statistics().waiting, 1u);
  EXPECT_EQ(table.hold(asking.get(), 200), Grant::later);
  EXPECT_EQ(younger->judged, 0) << "what is on its way is enough";
  EXPECT_EQ(table.hold(oldest.get(), 0), Grant::given);
  EXPECT_EQ(verdict(oldest), Verdict::stay);
  EXPECT_EQ(asking->resumed, 1);
  EXPECT_EQ(table.hold(asking.get(), 200), Grant::given);
  EXPECT_EQ(table.statistics().most_bytes_in_flight, 550u);
}

TEST_F(ConnectionTableTest, WhoWaitsGivesWayOnlyWhenNobodyIsBeingAnswered) {
  const auto answered = holding(300, Stage::answering);
  const auto first = holding(250, Stage::arriving);
  const auto second = connect(Stage::arriving);
  EXPECT_EQ(table.hold(first.get(), 350), Grant::later);
  EXPECT_EQ(table.hold(second.get(), 200), Grant::later);
  EXPECT_EQ(first->judged + second->judged, 0);
  table.remove(answered.get());
  EXPECT_EQ(first->resumed, 1);
  EXPECT_EQ(second->resumed, 1) << "there is room for both";
  EXPECT_EQ(table.hold(first.get(), 450), Grant::given);
  EXPECT_EQ(table.hold(second.get(), 200), Grant::later);
  EXPECT_EQ(verdict(first), Verdict::yield) << "it moves, and began first";
}

TEST_F(ConnectionTableTest, ThoseWhoWaitForEachOtherAreResolved) {
  const auto answered = holding(200, Stage::answering);
  const auto first = holding(250, Stage::arriving);
  const auto second = holding(250, Stage::arriving);
  EXPECT_EQ(table.hold(second.get(), 350), Grant::later);
  EXPECT_EQ(verdict(first), Verdict::yield);
  table.enter(first.get(), Stage::answering);  // whole in the meantime
  EXPECT_EQ(second->resumed, 1);
  EXPECT_EQ(table.hold(second.get(), 500), Grant::later);
  EXPECT_EQ(table.hold(first.get(), 0), Grant::given);
  EXPECT_EQ(second->resumed, 2) << "not enough for it yet, but it looks again";
  EXPECT_EQ(table.hold(second.get(), 500), Grant::later);
  table.remove(answered.get());
  EXPECT_EQ(second->resumed, 3);
  EXPECT_EQ(table.hold(second.get(), 500), Grant::given);
}

TEST_F(ConnectionTableTest, NobodyIsAddedAfterTheEnd) {
  const auto one = connect();
  EXPECT_EQ(table.close().size(), 1u);
  EXPECT_EQ(table.add(std::make_shared<FakeConnection>()), Place::none);
  table.remove(one.get());
  EXPECT_TRUE(table.wait_until_empty(std::nullopt));
}

}  // namespace
}  // namespace berth::net
