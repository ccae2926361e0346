#include "controllers/loadbalancer/describer.h"

#include "controllers/loadbalancer/test_support.h"

namespace berth::controllers::loadbalancer {
namespace {

using namespace std::chrono_literals;

class DescriberTest : public DirectoryTest {
 protected:
  std::size_t answered_ = 0;
  Describer describer_{tasks_, drivers_, [this](const auto&) { ++answered_; }};
  std::unique_ptr<Task> running_ = tasks_.spawn(
      "run", [this](std::stop_token stop) { describer_.run({.tasks = tasks_, .stop = stop}); });
};

TEST_F(DescriberTest, AllThatAreDueAreOneCall) {
  for (int i = 0; i < 40; ++i) {
    directory_.names[lb(fmt::format("lb-{}", i))] = fmt::format("name-{}", i);
    EXPECT_FALSE(describer_.take(lb(fmt::format("lb-{}", i))));
  }
  ASSERT_TRUE(kernel_.run_until([&] { return answered_ == 40; }));
  ASSERT_EQ(directory_.described.size(), 1u);
  EXPECT_EQ(directory_.described.front().size(), 40u);
  EXPECT_EQ(describer_.take(lb("lb-7"))->value().name, "name-7");
}

TEST_F(DescriberTest, OneThatIsNotKnownConcernsOnlyItself) {
  directory_.names[lb("lb-1")] = "rooms";
  EXPECT_FALSE(describer_.take(lb("lb-1")));
  EXPECT_FALSE(describer_.take(lb("lb-2")));
  ASSERT_TRUE(kernel_.run_until([&] { return answered_ == 2; }));
  EXPECT_EQ(describer_.take(lb("lb-1"))->value().name, "rooms");
  EXPECT_EQ(describer_.take(lb("lb-2"))->error().code, Code::not_found);
}

TEST_F(DescriberTest, AnAnswerIsTakenOnce) {
  directory_.names[lb("lb-1")] = "rooms";
  EXPECT_FALSE(describer_.take(lb("lb-1")));
  ASSERT_TRUE(kernel_.run_until([&] { return answered_ == 1; }));
  EXPECT_TRUE(describer_.take(lb("lb-1")));
  EXPECT_FALSE(describer_.take(lb("lb-1"))) << "the next one is asked for";
  ASSERT_TRUE(kernel_.run_until([&] { return answered_ == 2; }));
  pass(1min);
  EXPECT_FALSE(describer_.take(lb("lb-1"))) << "what nobody came for is too old";
}

TEST_F(DescriberTest, AProviderThatHangsHidesNoOther) {
  directory_.takes = 10min;
  const model::LoadBalancerRef elsewhere{model::Provider::aws, "eu-west-1", "arn:1"};
  other_.names[elsewhere] = "rooms";
  EXPECT_FALSE(describer_.take(lb("lb-1")));
  EXPECT_FALSE(describer_.take(elsewhere));
  ASSERT_TRUE(kernel_.run_until([&] { return answered_ == 1; }));
  EXPECT_EQ(describer_.take(elsewhere)->value().name, "rooms");
}

TEST_F(DescriberTest, OneIsAskedForWithTheCredentialsOfThoseWhoHavePortsThere) {
  const model::CredentialId a("a"), b("b");
  directory_.names = {{lb("lb-1"), "rooms"}, {lb("lb-2"), "halls"}, {lb("lb-3"), "attic"}};
  directory_.whose = {{lb("lb-1"), a}, {lb("lb-2"), b}, {lb("lb-3"), {}}};
  EXPECT_FALSE(describer_.take(lb("lb-1"), {a, b}));
  EXPECT_FALSE(describer_.take(lb("lb-2"), {a, b}));
  EXPECT_FALSE(describer_.take(lb("lb-3"), {a, b}));
  ASSERT_TRUE(kernel_.run_until([&] { return answered_ == 3; }));
  EXPECT_EQ(describer_.take(lb("lb-1"))->value().name, "rooms");
  EXPECT_EQ(describer_.take(lb("lb-2"))->value().name, "halls") << "the second one sees it";
  EXPECT_EQ(describer_.take(lb("lb-3"))->error().code, Code::not_found)
      << "the process's own are nobody's here";
  EXPECT_EQ(directory_.described_with, (std::vector{a, b}));
}

TEST_F(DescriberTest, WhatNobodyServesIsSaidAtOnce) {
  const auto answer = describer_.take({model::Provider::gcp, "us-east1", "rooms", "play"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->error().code, Code::unsupported);
}

}  // namespace
}  // namespace berth::controllers::loadbalancer
