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
    return handler(request, {.address = "192.0.2.9"}, {});
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

TEST_F(LeaderOnlyTest, OthersHandARequestOn) {
  net::Request seen;
  std::string from;
  const Forward forward = [&](const net::Request& request, const net::Peer& peer,
                              std::stop_token) -> Result<net::Reply> {
    seen = request;
    from = peer.address;
    return net::Reply{.status = 201, .body = "theirs"};
  };
  EXPECT_EQ(ask({.method = "POST", .body = "x"}, forward).body, "theirs");
  EXPECT_EQ(seen.body, "x");
  EXPECT_EQ(from, "192.0.2.9");
}

TEST_F(LeaderOnlyTest, ALeaderThatDoesNotAnswerIsWaitedFor) {
  const Forward nobody = [](const net::Request&, const net::Peer&,
                            std::stop_token) -> Result<net::Reply> {
    return fail(Code::unavailable, "nobody is there");
  };
  const net::Reply reply = ask({}, nobody);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.headers.get("Retry-After"), "1");
  EXPECT_EQ(reply.body, "nobody is there\n");
}

}  // namespace
}  // namespace berth::app
