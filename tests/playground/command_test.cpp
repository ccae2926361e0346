// `berth playground` as a process: what it prints first, two of them in one folder, and what one
// that was killed leaves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json.hpp>
#include <filesystem>

#include "base/file.h"
#include "base/threads.h"
#include "net/curl_transport.h"
#include "support/eventually.h"
#include "support/scratch_dir.h"
#include "support/subprocess.h"
#include "wire/value.h"

#include <fmt/format.h>

namespace berth {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr auto kPatience = 120s;

class PlaygroundCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    auto dir = testing::ScratchDir::create("berth-command");
    ASSERT_TRUE(dir) << dir.error();
    dir_.emplace(std::move(*dir));
  }

  struct Running {
    testing::Process process;
    wire::Value first_line;  // what a program reads

    std::string at(std::string_view pointer) const {
      return std::string(wire::string_at(first_line, pointer));
    }
  };
  Running start(const std::string& name, const std::string& flags = "") {
    const fs::path log = dir_->path() / (name + ".log");
    auto process = testing::Process::spawn(
        {.program = "/bin/bash",
         .args = {"-c", fmt::format("cd '{}' && exec '{}' playground --empty -o json {}",
                                    dir_->path().string(), BERTH_PROGRAM, flags)},
         .env = {}},
        log);
    EXPECT_TRUE(process) << process.error();
    std::string text;
    EXPECT_TRUE(testing::eventually(kPatience, [&] {
      text = read_file(log.string(), 1u << 20).value_or("");
      return text.find('\n') != std::string::npos;
    })) << "it does not come up";
    Result<wire::Value> line = wire::parse_json(text.substr(0, text.find('\n')));
    EXPECT_TRUE(line) << text;
    return {std::move(*process), line.value_or(wire::Value())};
  }
  static void stop(Running& play) {
    ::kill(play.process.pid(), SIGINT);
    ASSERT_TRUE(play.process.wait(kPatience)) << "it does not stop";
    EXPECT_EQ(play.process.exit_code(), 0);
  }
  std::string in_folder(const std::string& name) const { return (dir_->path() / name).string(); }

  std::optional<testing::ScratchDir> dir_;
};

TEST_F(PlaygroundCommand, TellsWhereItsMetricsAreAndTheyHaveTheVersionOfTheProgram) {
  Running play = start("one");
  ThreadTasks tasks;
  net::CurlTransport transport;
  const Context context{.tasks = tasks};
  const auto metrics = transport.call(context.within(120s), {.url = play.at("/metrics")});
  ASSERT_TRUE(metrics) << play.at("/metrics") << ": " << metrics.error().to_string();
  const auto version = testing::run(
      {.program = BERTH_PROGRAM, .args = {"version", "-o", "json"}, .env = {}}, "", 20s);
  const auto told = wire::parse_json(version.out);
  ASSERT_TRUE(told) << version.out;
  EXPECT_THAT(metrics->body,
              HasSubstr(fmt::format("bkbcs_ingressctrl_controller_info{{cloud=\"edge\",version="
                                    "\"{}\"}} 1",
                                    wire::string_at(*told, "/version"))));
  stop(play);
}

TEST_F(PlaygroundCommand, TellsWhereItsCloudShowsItself) {
  Running play = start("one", "--cloud tencent");
  ThreadTasks tasks;
  net::CurlTransport transport;
  const Context context{.tasks = tasks};
  net::TlsSettings tls;
  tls.insecure = true;  // as `curl -k`
  const auto page = transport.call(
      context.within(120s), {.url = play.at("/cloud"),
                             .headers = {{"Accept", "text/html"}},
                             .tls = std::make_shared<const net::TlsSettings>(std::move(tls))});
  ASSERT_TRUE(page) << play.at("/cloud") << ": " << page.error().to_string();
  EXPECT_THAT(page->body, HasSubstr("lb-rooms001 rooms (ap-guangzhou"));
  EXPECT_THAT(page->body, HasSubstr("lb-east0001 rooms-east (ap-shanghai"));
  stop(play);
}

TEST_F(PlaygroundCommand, TwoInOneFolderDoNotTakeEachOthersKubeconfig) {
  Running first = start("first");
  EXPECT_EQ(first.at("/kubeconfig"), in_folder("berth-playground.kubeconfig"));
  const std::string before = read_file(first.at("/kubeconfig"), 1u << 20).value_or("");
  {
    Running second = start("second");
    EXPECT_EQ(second.at("/kubeconfig"), in_folder("berth-playground-2.kubeconfig"));
    stop(second);
    EXPECT_FALSE(fs::exists(second.at("/kubeconfig")));
  }
  EXPECT_EQ(read_file(first.at("/kubeconfig"), 1u << 20).value_or(""), before);

  ::kill(first.process.pid(), SIGKILL);
  ASSERT_TRUE(first.process.wait(kPatience));
  EXPECT_TRUE(fs::exists(first.at("/kubeconfig")));
  Running third = start("third");
  EXPECT_EQ(third.at("/kubeconfig"), first.at("/kubeconfig")) << "nobody uses it any more";
  EXPECT_NE(read_file(third.at("/kubeconfig"), 1u << 20).value_or(""), before);
  stop(third);
  EXPECT_FALSE(fs::exists(third.at("/kubeconfig")));
}

}  // namespace
}  // namespace berth
