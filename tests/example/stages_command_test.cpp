// A subcommand that a module brings, as people call it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "kube/client/test_fake_transport.h"
#include "module_commands.h"
#include "stages_told.h"

namespace berth::example {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kTwoStages = R"({"apiVersion":"example.dev/v1","kind":"StageList",
"metadata":{"resourceVersion":"7"},"items":[
{"metadata":{"name":"main","uid":"u-1","resourceVersion":"5"},
 "spec":{"loadBalancerID":"edge:demo","address":"10.0.0.1","port":8000},"status":{"publicPort":45000}},
{"metadata":{"name":"side","uid":"u-2","resourceVersion":"6"},
 "spec":{"loadBalancerID":"edge:arena","address":"10.0.0.2","port":8000},"status":{"message":"no port is free"}}]})";

struct Outcome {
  int code = 0;
  std::string out;
};

class CommandTest : public ::testing::Test {
 protected:
  // As main does.
  Outcome berth(std::vector<std::string> words, std::vector<module::Command> commands) {
    CLI::App root{"Berth", "berth"};
    root.require_subcommand(1);
    cmd::Run run;
    cmd::add_module_commands(root, run, std::move(commands),
                             [this](const cmd::ClusterFlags& flags, const cmd::ClusterWork& work) {
                               kubeconfig_ = flags.kubeconfig;
                               kube::Client client(transport_,
                                                   kube::fixed_config("https://api.example", {}));
                               return work({.tasks = tasks_}, client);
                             });
    std::ranges::reverse(words);  // as CLI11 takes them
    ::testing::internal::CaptureStdout();
    cmd::set_exit_code(0);
    Outcome out;
    try {
      root.parse(words);
      out.code = cmd::report(run());
    } catch (const CLI::ParseError& error) {
      out.code = root.exit(error);
    }
    out.out = ::testing::internal::GetCapturedStdout();
    return out;
  }
  Outcome stages(std::vector<std::string> words) {
    words.insert(words.begin(), "stages");
    return berth(std::move(words), stages::declare_with_command({}).commands);
  }
  // One that says what it was given.
  Outcome given(std::vector<std::string> words) {
    const module::Command command{
        .name = "rooms free",
        .about = "Frees rooms.",
        .example = "berth rooms free main",
        .options = {{.name = "room", .help = "Which.", .value = "NAME", .required = true},
                    {.name = "--why", .help = "Why.", .value = "TEXT", .otherwise = "nobody asked"},
                    {.name = "--also", .help = "More.", .value = "NAME", .many = true},
                    {.name = "-f,--force", .help = "Whoever has it."}},
        .run = [this](const module::CommandCall& call) {
          given_ = call.given;
          return module::CommandReply{};
        }};
    return berth(std::move(words), {command});
  }

  kube::testing::JumpingTasks tasks_;
  kube::testing::FakeTransport transport_;
  std::string kubeconfig_;
  decltype(module::CommandCall::given) given_;
};

TEST_F(CommandTest, PrintsForPeopleAndForPrograms) {
  transport_.answer(200, kTwoStages).answer(200, kTwoStages);
  const Outcome people = stages({"--kubeconfig", "somewhere"});
  EXPECT_EQ(people.code, 1) << "one has no port";
  EXPECT_THAT(people.out, HasSubstr("main    45000"));
  EXPECT_THAT(people.out, HasSubstr("no port is free"));
  EXPECT_EQ(kubeconfig_, "somewhere");
  EXPECT_THAT(transport_.requests.at(0).url, HasSubstr("/apis/example.dev/v1/stages"));
  const Outcome of_demo = stages({"-l", "edge:demo", "-o", "json"});
  EXPECT_EQ(of_demo.code, 0) << "it is the other that has no port";
  const auto json = wire::parse_json(of_demo.out);
  ASSERT_TRUE(json);
  EXPECT_EQ(wire::int_at(*json, "/0/port"), 45000);
}

TEST_F(CommandTest, HelpHasAnExample) {
  const Outcome help = stages({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* part : {"Which Stage has which port", "--load-balancer", "--kubeconfig",
                           "json|text", "berth stages -l edge:demo -o json"})
    EXPECT_THAT(help.out, HasSubstr(part));
}

TEST_F(CommandTest, AServerThatDoesNotAnswerIsSaid) { EXPECT_EQ(stages({}).code, 3); }

TEST_F(CommandTest, OptionsArriveAsTheyWereGiven) {
  EXPECT_EQ(given({"rooms", "free", "main", "--also", "a", "--also", "b", "-f"}).code, 0);
  EXPECT_THAT(given_["room"], ElementsAre("main"));
  EXPECT_THAT(given_["also"], ElementsAre("a", "b"));
  EXPECT_THAT(given_["force"], ElementsAre("true"));
  EXPECT_THAT(given_["why"], ElementsAre("nobody asked"));
  EXPECT_EQ(given({"rooms", "free", "--why", "it rains", "main"}).code, 0);
  EXPECT_THAT(given_["room"], ElementsAre("main"));
  EXPECT_THAT(given_["why"], ElementsAre("it rains"));
  EXPECT_FALSE(given_.contains("force"));
  EXPECT_NE(given({"rooms", "free"}).code, 0) << "which?";
  EXPECT_NE(given({"rooms", "free", "main", "other"}).code, 0);
  EXPECT_NE(given({"rooms"}).code, 0);
}

}  // namespace
}  // namespace berth::example
