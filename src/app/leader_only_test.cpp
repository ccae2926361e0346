#include "app/leader_only.h"

#include <gtest/gtest.h>

namespace berth::app {
namespace {

class LeaderOnlyTest : public ::testing::Test {
 protected:
  net::Reply ask(const net::Request& request = {}, const Forward& forward = {}) {
    const net::Handler handler =
        leader_only([](const net::Request&, const net::Peer&,
                       std::stop_token) { return net::Reply{.status = 200, .body = "mine"}; },
                    [this] { return leads_; }, forward);
    return handler(request, {}, {});
  }

  bool leads_ = false;
};

TEST_F(LeaderOnlyTest, TheLeaderAnswers) {
  leads_ = true;
  EXPECT_EQ(ask().body, "mine");
}

TEST_F(LeaderOnlyTest, OthersSayWhenToComeAgain) {
  const net::Reply reply = ask();
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.headers.get("Retry-After"), "1");
}

TEST_F(LeaderOnlyTest, OthersHandARequestOnOnce) {
  net::Request seen;
  const Forward forward = [&](const net::Request& request) -> Result<net::Reply> {
    seen = request;
    return net::Reply{.status = 201, .body = "theirs"};
  };
  EXPECT_EQ(ask({.method = "POST", .body = "x"}, forward).body, "theirs");
  EXPECT_EQ(seen.body, "x");
  // Two that take each other for the leader would send it to and fro.
  EXPECT_EQ(ask(seen, forward).status, 503);
}

TEST_F(LeaderOnlyTest, ALeaderThatDoesNotAnswerIsWaitedFor) {
  const Forward nobody = [](const net::Request&) -> Result<net::Reply> {
    return fail(Code::unavailable, "nobody is there");
  };
  EXPECT_EQ(ask({}, nobody).status, 503);
}

}  // namespace
}  // namespace berth::app
