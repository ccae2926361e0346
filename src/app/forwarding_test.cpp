#include "app/forwarding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/leader_address.h"
#include "kube/client/test_fake_transport.h"

namespace berth::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::shared_ptr<const crypto::KeyRing> ring(const char* id, const char* bytes) {
  return std::make_shared<const crypto::KeyRing>(
      std::vector<crypto::Key>{{.id = id, .bytes = Secret(bytes), .made = WallTime{}}});
}
const auto kOurs = ring("k1", "of this house");
const auto kTheirs = ring("k1", "of another house");

constexpr const char* kLeader = "192.0.2.1:9444";

// The network between a replica and the leader.
class Wire final : public net::Transport {
 public:
  explicit Wire(net::Handler far_end) : far_end_(std::move(far_end)) {}

  Result<net::Response> call(const Context& context, const net::Request& request) override {
    sent.push_back(request);
    deadline = context.deadline;
    const std::string origin = std::string("https://") + kLeader;
    EXPECT_TRUE(request.url.starts_with(origin)) << request.url;
    net::Request arrived = request;
    arrived.url = request.url.substr(origin.size());
    if (broken) return fail(*broken);
    net::Reply reply = far_end_(arrived, {.address = "192.0.2.2"}, {});
    return net::Response{reply.status, reply.headers, reply.body};
  }
  Result<std::unique_ptr<net::Stream>> open(const Context&, const net::Request&) override {
    return fail(Code::internal, "nobody opens a stream here");
  }

  std::vector<net::Request> sent;
  Instant deadline{};
  std::optional<Error> broken;

 private:
  net::Handler far_end_;
};

class ForwardingTest : public ::testing::Test {
 protected:
  ForwardingTest() {
    forward_ = forward_to_leader({.tasks = tasks_,
                                  .transport = wire_,
                                  .address = [this]() -> Result<std::string> {
                                    if (!known_) return fail(Code::unavailable, "no replica leads");
                                    return std::string(kLeader);
                                  },
                                  .tls = [] { return std::make_shared<const net::TlsSettings>(); },
                                  .keys = [this] { return keys_; },
                                  .registry = registry_},
                                 "tickets");
  }

  // Asks a replica that does not lead.
  net::Reply ask(const net::Request& request) {
    const net::Handler handler = leader_only(
        [](const net::Request&, const net::Peer&, std::stop_token) {
          ADD_FAILURE() << "only the leader answers";
          return net::Reply{};
        },
        [] { return false; }, forward_);
    return handler(request, {.address = "198.51.100.7", .certificate_common_name = "node-7"}, {});
  }

  net::Reply answer(const net::Request& request, const net::Peer& peer) {
    heard_.push_back(request);
    peer_ = peer;
    return reply_;
  }

  kube::testing::JumpingTasks tasks_;
  metrics::Registry registry_;
  bool leads_ = true;
  bool known_ = true;
  std::shared_ptr<const crypto::KeyRing> keys_ = kOurs;
  net::Reply reply_{.status = 201, .body = "7"};
  std::vector<net::Request> heard_;
  net::Peer peer_;
  Wire wire_{take_forwarded(
      {{.is = {.name = "tickets", .leader_only = true, .max_body_bytes = 16},
        .answer = [this](const net::Request& request, const net::Peer& peer,
                         std::stop_token) { return answer(request, peer); }},
       {.is = {.name = "open"},
        .answer = [](const net::Request&, const net::Peer&,
                     std::stop_token) { return net::Reply{.body = "not for the leader alone"}; }}},
      [this] { return leads_; }, [] { return kOurs; })};
  Forward forward_;
};

TEST_F(ForwardingTest, TheLeaderAnswersAsIfItHadBeenAsked) {
  reply_.headers = {{"Content-Type", "application/json"}, {"Connection", "close"}};
  const net::Reply reply = ask({.method = "PUT",
                                .url = "/v1/next?from=a%20b",
                                .headers = {{"Authorization", "Bearer of somebody"},
                                            {"Connection", "close, X-Once"},
                                            {"X-Once", "for this connection"},
                                            {"Transfer-Encoding", "chunked"},
                                            {"Content-Length", "1"},
                                            {"X-Twice", "a"},
                                            {"X-Twice", "b"}},
                                .body = "x"});
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(reply.body, "7");
  EXPECT_EQ(reply.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(reply.headers.get("Connection"), "");
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].method, "PUT");
  EXPECT_EQ(heard_[0].url, "/v1/next?from=a%20b");
  EXPECT_EQ(heard_[0].body, "x");
  EXPECT_EQ(heard_[0].headers.get("Authorization"), "Bearer of somebody");
  EXPECT_THAT(heard_[0].headers.all("X-Twice"), ElementsAre("a", "b"));
  for (const char* of_connection :
       {"Connection", "X-Once", "Transfer-Encoding", "Content-Length", "Berth-Forwarded"})
    EXPECT_EQ(heard_[0].headers.get(of_connection), "") << of_connection;
  EXPECT_EQ(peer_.address, "198.51.100.7") << "who asked, not who handed it on";
  EXPECT_EQ(peer_.certificate_common_name, "node-7");
}

// Who asks could say that another one did.
TEST_F(ForwardingTest, WhoAsksCannotSpeakForOthers) {
  ask({.url = "/v1/next",
       .headers = {{"Berth-Peer-Address", "203.0.113.1"},
                   {"berth-peer-name", "node-1"},
                   {"Berth-Peer-Group", "admins"}}});
  EXPECT_EQ(peer_.address, "198.51.100.7");
  EXPECT_EQ(peer_.certificate_common_name, "node-7");
  EXPECT_THAT(peer_.certificate_organizations, IsEmpty());
}

TEST_F(ForwardingTest, OnlyReplicasAreTakenFrom) {
  keys_ = kTheirs;
  EXPECT_EQ(ask({.url = "/v1/next"}).status, 403);
  EXPECT_THAT(heard_, IsEmpty());
}

TEST_F(ForwardingTest, WithoutALeaderNothingIsSent) {
  known_ = false;
  const net::Reply reply = ask({.url = "/v1/next"});
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.headers.get("Retry-After"), "1");
  EXPECT_EQ(reply.body, "no replica leads; nothing was done\n");
  EXPECT_THAT(wire_.sent, IsEmpty());
}

// Two that take each other for the leader do not send a request to and fro.
TEST_F(ForwardingTest, WhoDoesNotLeadHandsNothingOn) {
  leads_ = false;
  const net::Reply reply = ask({.url = "/v1/next"});
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.headers.get("Retry-After"), "1");
  EXPECT_THAT(reply.body, HasSubstr("nothing was done"));
  EXPECT_EQ(wire_.sent.size(), 1u);
  EXPECT_THAT(heard_, IsEmpty());
}

TEST_F(ForwardingTest, ALeaderThatDoesNotAnswerIsAskedOnceAndNotForLong) {
  const Instant begun = tasks_.now();
  for (const Code code : {Code::timeout, Code::unavailable}) {
    wire_.sent.clear();
    wire_.broken = error_of(code, "scripted");
    const net::Reply reply = ask({.method = "POST", .url = "/v1/next", .body = "x"});
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.headers.get("Retry-After"), "1");
    EXPECT_THAT(reply.body, HasSubstr("may have been carried out"));
    EXPECT_EQ(wire_.sent.size(), 1u);
    EXPECT_EQ(wire_.deadline, begun + kForwardDeadline);
  }
}

TEST_F(ForwardingTest, ABodyPastTheBoundIsRefused) {
  EXPECT_EQ(ask({.method = "POST", .url = "/v1/next", .body = std::string(17, 'x')}).status, 413);
  EXPECT_THAT(heard_, IsEmpty());
  EXPECT_EQ(ask({.method = "POST", .url = "/v1/next", .body = std::string(16, 'x')}).status, 201);
}

TEST_F(ForwardingTest, WhatIsNoPathIsNotSent) {
  for (const char* url : {"*", "http://192.0.2.9/", ""}) EXPECT_EQ(ask({.url = url}).status, 400);
  EXPECT_THAT(wire_.sent, IsEmpty());
}

TEST_F(ForwardingTest, WhatIsForEveryReplicaIsNotReachedThroughTheLeader) {
  const Forward to_open =
      forward_to_leader({.tasks = tasks_,
                         .transport = wire_,
                         .address = [] { return std::string(kLeader); },
                         .tls = [] { return std::make_shared<const net::TlsSettings>(); },
                         .keys = [] { return kOurs; },
                         .registry = registry_},
                        "open");
  const auto reply = to_open({.url = "/"}, {}, {});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 503);
}

// --- where the leader is

kube::LeaseHolder holder(const crypto::KeyRing& by, const char* identity, const char* address) {
  return {identity, sealed_notice(by, "berth-system", identity, address)};
}

TEST(LeaderAddress, IsWhatTheHolderSealed) {
  for (const char* address : {"192.0.2.1:9444", "[2001:db8::7]:9444"}) {
    const auto found = address_in(*kOurs, "berth-system", holder(*kOurs, "a", address));
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(*found, address);
  }
}

TEST(LeaderAddress, IsNotWhatAnybodyWrites) {
  const kube::LeaseHolder sealed = holder(*kOurs, "a", "192.0.2.1:9444");
  const auto verdict = [](const kube::LeaseHolder& said, const char* ns = "berth-system") {
    const auto found = address_in(*kOurs, ns, said);
    return found ? Code::internal : found.error().code;
  };
  EXPECT_EQ(verdict({"a", ""}), Code::unavailable);
  EXPECT_EQ(verdict({"a", "192.0.2.66:9444"}), Code::unavailable) << "without a seal";
  EXPECT_EQ(verdict({"b", sealed.notice}), Code::forbidden) << "of a leader before this one";
  EXPECT_EQ(verdict(sealed, "elsewhere"), Code::forbidden) << "of another installation";
  EXPECT_EQ(verdict(holder(*kTheirs, "a", "192.0.2.66:9444")), Code::forbidden);
  const std::string seal = sealed.notice.substr(sealed.notice.find(' '));
  EXPECT_EQ(verdict({"a", "192.0.2.66:9444" + seal}), Code::forbidden);
  EXPECT_EQ(verdict(holder(*kOurs, "a", "a.name.example:9444")), Code::forbidden);
}

TEST(LeaderAddress, IsWhereOthersCanCall) {
  EXPECT_EQ(advertised_address("192.0.2.7", "0.0.0.0").value(), "192.0.2.7");
  EXPECT_EQ(advertised_address("", "127.0.0.1").value(), "127.0.0.1");
  for (const char* all : {"0.0.0.0", "::", "0:0:0:0:0:0:0:0"})
    EXPECT_EQ(advertised_address("", all).value(), "") << all;
  for (const char* wrong : {"0.0.0.0", "::", "a.name.example", "192.0.2.7:80", "[::1]"}) {
    const auto refused = advertised_address(wrong, "127.0.0.1");
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, Code::invalid);
    EXPECT_THAT(refused.error().to_string(), HasSubstr(wrong));
  }
}

}  // namespace
}  // namespace berth::app
