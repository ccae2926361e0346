#include "controllers/loadbalancer/name_book.h"

#include "controllers/loadbalancer/test_support.h"

namespace berth::controllers::loadbalancer {
namespace {

using namespace std::chrono_literals;

class NameBookTest : public DirectoryTest {
 protected:
  // What is known once the provider has answered.
  Result<model::LoadBalancerRef> answer(const std::string& name) {
    const std::size_t before = answered_;
    (void)book_.ask(lb(name));
    EXPECT_TRUE(kernel_.run_until([&] { return answered_ > before; }));
    return book_.ask(lb(name));
  }

  std::size_t answered_ = 0;
  NameBook book_{tasks_, drivers_, [this](const auto&) { ++answered_; }};
  std::unique_ptr<Task> running_ = tasks_.spawn(
      "run", [this](std::stop_token stop) { book_.run({.tasks = tasks_, .stop = stop}); });
};

TEST_F(NameBookTest, ANameIsLookedUpOnceHoweverOftenItIsAsked) {
  directory_.names = {{lb("lb-1"), "rooms"}, {lb("lb-2"), "rooms-of-others"}};
  EXPECT_EQ(book_.ask(lb("rooms")).error().code, Code::unavailable);
  EXPECT_EQ(book_.ask(lb("rooms")).error().code, Code::unavailable);
  ASSERT_TRUE(kernel_.run_until([&] { return answered_ == 1; }));
  EXPECT_EQ(book_.ask(lb("rooms")), lb("lb-1"));
  EXPECT_EQ(directory_.searches, 1);
}

TEST_F(NameBookTest, ANameMeansWhatTheCredentialsOfWhoAsksShow) {
  const model::CredentialId a("a"), b("b");
  directory_.names = {{lb("lb-1"), "rooms"}, {lb("lb-2"), "rooms"}};
  directory_.whose = {{lb("lb-1"), a}, {lb("lb-2"), b}};
  (void)book_.ask(lb("rooms"), a);
  (void)book_.ask(lb("rooms"), b);
  (void)book_.ask(lb("rooms"));
  ASSERT_TRUE(kernel_.run_until([&] { return answered_ == 3; }));
  EXPECT_EQ(book_.ask(lb("rooms"), a), lb("lb-1"));
  EXPECT_EQ(book_.ask(lb("rooms"), b), lb("lb-2"));
  EXPECT_EQ(book_.ask(lb("rooms")).error().code, Code::not_found);
}

TEST_F(NameBookTest, WhatWasTrueOnceIsAskedAgain) {
  directory_.names = {{lb("lb-1"), "rooms"}};
  EXPECT_EQ(answer("rooms"), lb("lb-1"));
  directory_.names = {{lb("lb-2"), "rooms"}};
  pass(2min);
  EXPECT_EQ(book_.ask(lb("rooms")).error().code, Code::unavailable) << "not what it was";
  ASSERT_TRUE(kernel_.run_until([&] { return answered_ == 2; }));
  EXPECT_EQ(book_.ask(lb("rooms")), lb("lb-2"));
}

TEST_F(NameBookTest, SeveralOfOneNameAreNamedWithTheirIds) {
  directory_.names = {{lb("lb-1"), "rooms"}, {lb("lb-2"), "rooms"}};
  const auto both = answer("rooms");
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().to_string(),
            "conflict: 2 load balancers in ap-x have the name 'rooms': ap-x:lb-1, ap-x:lb-2 "
            "(hint: write the id)");
}

TEST_F(NameBookTest, WhatWasWrongIsSaidUntilItIsKnownBetter) {
  EXPECT_EQ(answer("rooms").error().code, Code::not_found);
  directory_.names = {{lb("lb-1"), "rooms"}};
  pass(1min);
  EXPECT_EQ(book_.ask(lb("rooms")).error().code, Code::not_found);
  ASSERT_TRUE(kernel_.run_until([&] { return answered_ == 2; }));
  EXPECT_EQ(book_.ask(lb("rooms")), lb("lb-1"));
}

TEST_F(NameBookTest, ANameOfAGatewayKeepsItsAddress) {
  directory_.names = {{lb("nat-1"), "exit"}};
  model::LoadBalancerRef named = lb("exit");
  named.address = "1.2.3.4";
  (void)book_.ask(named);
  ASSERT_TRUE(kernel_.run_until([&] { return answered_ == 1; }));
  const auto found = book_.ask(named);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, "nat-1");
  EXPECT_EQ(found->address, "1.2.3.4");
}

TEST_F(NameBookTest, WhatIsOfAnotherRegionIsNotMeant) {
  model::LoadBalancerRef elsewhere = lb("lb-1");
  elsewhere.region = "ap-y";
  directory_.names = {{elsewhere, "rooms"}};
  EXPECT_EQ(answer("rooms").error().code, Code::not_found);
}

// Whoever goes on asking for what is not there costs less and less.
TEST_F(NameBookTest, ANameThatNobodyHasIsLookedUpLessAndLess) {
  for (int i = 0; i < 360; ++i) {
    (void)book_.ask(lb("nobody"));
    pass(10s);
  }
  EXPECT_LE(directory_.searches, 25) << "in an hour";
}

TEST_F(NameBookTest, AProviderThatDoesNotAnswerIsNamed) {
  directory_.away = true;
  const auto away = answer("rooms");
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, Code::unavailable);
  EXPECT_NE(away.error().to_string().find("'rooms'"), std::string::npos);
  EXPECT_NE(away.error().to_string().find("no route"), std::string::npos);
}

TEST_F(NameBookTest, ThereIsABoundOfNames) {
  for (int i = 0; i < 10'000; ++i) (void)book_.ask(lb(fmt::format("name-{}", i)));
  directory_.takes = {};
  ASSERT_TRUE(kernel_.run_until([&] { return answered_ == 4096; }));
}

}  // namespace
}  // namespace berth::controllers::loadbalancer
