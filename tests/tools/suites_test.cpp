// `tools/suites`: who gets a second try, what is said of it, and what the run's exit code is.

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "support/promise.h"
#include "support/scratch_dir.h"
#include "support/subprocess.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

constexpr std::string_view kPassed = "100% tests passed, 0 tests failed out of";

std::vector<std::string> environment(std::vector<std::string> more = {}) {
  const char* const path = std::getenv("PATH");
  more.push_back(std::string("PATH=") + (path == nullptr ? "/usr/bin:/bin" : path));
  return more;
}

// A build folder with suites that are shell commands.
class Suites {
 public:
  Suites() : folder_(testing::ScratchDir::create("berth-suites").value()) {}

  const fs::path& folder() const { return folder_.path(); }

  Suites& suite(const std::string& name, const std::string& script,
                const std::string& properties = "") {
    std::ofstream file(folder() / "CTestTestfile.cmake", std::ios::app);
    file << "add_test(" << name << " sh -c \"" << script << "\")\n";
    if (!properties.empty())
      file << "set_tests_properties(" << name << " PROPERTIES " << properties << ")\n";
    return *this;
  }
  // The folder remembers that there was a first try.
  std::string fails_once(const std::string& name, const std::string& then = "exit 0") const {
    const std::string mark = (folder() / name).string();
    return "test -e " + mark + " && " + then + "; touch " + mark + "; echo went-wrong; exit 1";
  }

  testing::CommandResult run(std::vector<std::string> args = {},
                             const std::vector<std::string>& env = {}) const {
    args.insert(args.begin(), folder().string());
    const char* const source = std::getenv("BERTH_SOURCE_DIR");
    return testing::run({.program = fs::path(source == nullptr ? "." : source) / "tools/suites",
                         .args = std::move(args),
                         .env = environment(env)},
                        "", 60s);
  }

 private:
  testing::ScratchDir folder_;
};

TEST(Suites, SuitesThatPassOrSkipThemselvesNeedNoWord) {
  const auto ran = Suites()
                       .suite("passes", "exit 0", "LABELS real")
                       .suite("skips", "echo away", "LABELS real SKIP_REGULAR_EXPRESSION away")
                       .run();
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr(kPassed), HasSubstr("skips (Skipped)")));
  EXPECT_THAT(ran.out, AllOf(Not(HasSubstr("FLAKY")), Not(HasSubstr("suites:"))));
}

TEST(Suites, ARealSuiteThatFailsOnceIsFlakyAndItsLogIsTheEnd) {
  Suites suites;
  const auto ran = suites.suite("passes", "echo all-is-well")
                       .suite("shaky", suites.fails_once("shaky"), "LABELS \"cluster;real\"")
                       .run({"-j", "2"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("50% tests passed, 1 tests failed out of 2"));
  const auto begin = ran.out.find("FLAKY: shaky\n");
  ASSERT_NE(begin, std::string::npos) << ran.out;
  const std::string block = ran.out.substr(begin);
  EXPECT_THAT(block, AllOf(HasSubstr("went-wrong\n"), HasSubstr("Test Failed."),
                           Not(HasSubstr("all-is-well")), Not(HasSubstr("Test Passed."))));
  EXPECT_EQ(ran.out.find("FLAKY", begin + 1), std::string::npos) << "one block";
}

TEST(Suites, ALogCanBeLeftForTheEndOfTheCaller) {
  Suites suites;
  const fs::path left = suites.folder() / "flaky";
  const auto ran = suites.suite("shaky", suites.fails_once("shaky"), "LABELS real")
                       .run({}, {"BERTH_FLAKY_DIR=" + left.string()});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, Not(HasSubstr("FLAKY")));
  std::ifstream file(left / (suites.folder().filename().string() + "-shaky"));
  std::string first;
  EXPECT_TRUE(std::getline(file, first));
  EXPECT_EQ(first, "FLAKY: shaky");
}

TEST(Suites, ARealSuiteThatFailsTwiceFailsTheRun) {
  const auto ran = Suites().suite("broken", "echo no; exit 1", "LABELS real").run();
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("suites: broken failed twice"), Not(HasSubstr("FLAKY"))));
}

TEST(Suites, OtherSuitesHaveNoSecondTry) {
  Suites suites;
  // A label that only begins like the word is another label.
  const auto ran = suites.suite("shaky", suites.fails_once("shaky"), "LABELS real")
                       .suite("unit", suites.fails_once("unit"), "LABELS \"unit;realtime\"")
                       .run();
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("suites: unit failed and has no second try"),
                             Not(HasSubstr("once more")), Not(HasSubstr("FLAKY"))));
}

// It talks to real processes, and what it saw once is not a matter of how busy they were.
TEST(Suites, ABrokenPromiseHasNoSecondTry) {
  const std::string line(testing::kBrokenPromise);
  for (const bool broken : {true, false}) {
    Suites suites;
    const std::string mark = (suites.folder() / "mark").string();
    const auto ran =
        suites.suite("shaky", suites.fails_once("shaky"), "LABELS real")
            .suite("judge",
                   "test -e " + mark + " && exit 0; touch " + mark + "; echo '" +
                       (broken ? line + "31000 is held by room-0 and room-1" : "timed out") +
                       "'; exit 1",
                   "LABELS \"cluster;real\"")
            .run();
    if (!broken) {
      EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
      continue;
    }
    EXPECT_NE(ran.exit_code, 0);
    EXPECT_THAT(ran.out,
                AllOf(HasSubstr("suites: judge saw a promise broken and has no second try"),
                      Not(HasSubstr("once more")), Not(HasSubstr("FLAKY"))));
  }
}

TEST(Suites, TimeoutIsAFailureAndASkippedSecondTryIsNoPass) {
  const auto slow = Suites().suite("slow", "sleep 20", "TIMEOUT 1").run();
  EXPECT_NE(slow.exit_code, 0);
  Suites suites;
  const auto skips = suites
                         .suite("shaky", suites.fails_once("shaky", "{ echo away; exit 0; }"),
                                "LABELS real SKIP_REGULAR_EXPRESSION away")
                         .run();
  EXPECT_NE(skips.exit_code, 0) << skips.out;
  EXPECT_THAT(skips.out, HasSubstr("suites: shaky failed twice"));
}

TEST(Suites, WhatCtestCannotRunFailsTheRun) {
  EXPECT_NE(Suites().run().exit_code, 0) << "no suites at all";
  EXPECT_NE(Suites().suite("unit", "exit 0").run({"-L", "nothing"}).exit_code, 0);
}

TEST(Suites, PromisesOfTheProjectAreTriedOnce) {
  const auto listed =
      testing::run({.program = "/usr/bin/env",
                    .args = {"ctest", "--test-dir", BERTH_BUILD_DIR, "-N", "-L", "^real$"},
                    .env = environment()},
                   "", 60s);
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("cluster_port_pools_test\n"));
  for (const std::string name :
       {"exactly_once", "killed_at_every_write", "scenarios", "crash", "trouble", "planted"})
    EXPECT_THAT(listed.out, Not(HasSubstr(name)));
  const auto both = testing::run({.program = "/usr/bin/env",
                                  .args = {"ctest", "--test-dir", BERTH_BUILD_DIR, "-N", "-L",
                                           "^real$", "-L", "^(unit|sweep)$"},
                                  .env = environment()},
                                 "", 60s);
  EXPECT_THAT(both.out, HasSubstr("Total Tests: 0\n"));
}

}  // namespace
}  // namespace berth
