// docs/install.md is true: its commands are run in their order on a real node, must succeed, and
// must print what the page shows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "installed_berth.h"
#include "page.h"
#include "support/eventually.h"

#include <fmt/format.h>

namespace berth {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using testing::CommandResult;
using testing::RealNodes;

constexpr std::size_t kMaxPage = 256u << 10;
constexpr auto kStepTimeout = 240s;

// What a reader does elsewhere, and who runs it there.
struct Elsewhere {
  std::string begins;
  std::string why;
};
const std::vector<Elsewhere> kElsewhere{
    {"make image", "image_test makes and unpacks it"},
    {"docker ", "no daemon is here"},
    {"openssl ", "cluster_webhook_clients_test: API servers need new flags first"},
    {"kubectl -n berth-system create configmap berth-webhook-clients", "the same"},
    {"kubectl -n berth-system patch deployment berth --type=json", "the same"},
};

std::string replaced(std::string text, std::string_view from, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += by.size())
    text.replace(at, from.size(), by);
  return text;
}

class InstallPage : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = RealNodes::unavailable()) GTEST_SKIP() << *why;
    auto started = InstalledBerth::start(1);
    ASSERT_TRUE(started) << started.error();
    berth_ = std::move(*started);
    // The images of the page, as a registry would hold them.
    for (const char* tag : {"1.0", "1.1"})
      ASSERT_EQ(berth_->load_as(fmt::format("registry.example.com/berth:{}", tag)), "");
    const char* source = std::getenv("BERTH_SOURCE_DIR");
    source_ = source ? source : ".";
    folder_ = berth_->nodes().directory() / "reader";
    fs::create_directory(folder_);
    fs::create_symlink(BERTH_PROGRAM, folder_ / "berth");
    fs::create_symlink(berth_->nodes().plane().program("kubectl"), folder_ / "kubectl");
  }

  CommandResult run_step(const std::string& command) {
    // The node and the address that this cluster has.
    const std::string here = replaced(replaced(command, "192.0.2.1 ", std::string(kEdge) + " "),
                                      "front-1", RealNodes::name(1));
    return testing::run(
        {"/bin/bash",
         {"-c", fmt::format("cd '{}' || exit 1\n{}", folder_.string(), here)},
         {fmt::format("PATH={}:/usr/bin:/bin", folder_.string()),
          fmt::format("HOME={}", folder_.string()),
          fmt::format("KUBECONFIG={}", berth_->nodes().plane().kubeconfig_path().string())}},
        "", kStepTimeout);
  }
  // What the reader has done beside the page by then.
  void before(const std::string& command) {
    if (command.starts_with("kubectl label namespace games")) {
      ASSERT_TRUE(berth_->kubectl({"create", "namespace", "games"}).ok());
    } else if (command.find("berth:1.1") != std::string::npos) {
      const auto room = read_file((source_ / "examples/first-room.yaml").string(), kMaxPage);
      ASSERT_TRUE(room);
      ASSERT_EQ(berth_->apply(replaced(*room, "edge:demo", "lb-1")), "");
      door_ = berth_->door_of("room-0");
      EXPECT_EQ(berth_->who_is_at(door_), "room-0");
    } else if (command.starts_with("berth uninstall --yes")) {
      ASSERT_TRUE(berth_->kubectl({"delete", "pod", "room-0", "-n", "games"}).ok());
    }
  }

  std::unique_ptr<InstalledBerth> berth_;
  fs::path source_;
  fs::path folder_;
  Door door_;
};

TEST_F(InstallPage, EveryCommandDoesWhatItShows) {
  const auto text = read_file((source_ / "docs/install.md").string(), kMaxPage);
  ASSERT_TRUE(text);
  const docs::Page page = docs::read_page(*text);
  int steps = 0;
  for (const docs::Step& step : page.steps) {
    const bool is_elsewhere = std::ranges::any_of(
        kElsewhere, [&](const Elsewhere& other) { return step.command.starts_with(other.begins); });
    if (is_elsewhere) continue;
    ASSERT_NO_FATAL_FAILURE(before(step.command));
    const CommandResult done = run_step(step.command);
    ASSERT_TRUE(done.ok()) << "line " << step.line << ": " << step.command << "\n"
                           << done.out << done.err << berth_->story();
    EXPECT_EQ(docs::missing_line(step, done.out), "")
        << "line " << step.line << ": " << step.command << "\n"
        << done.out;
    ++steps;
  }
  EXPECT_GE(steps, 10) << "the page has lost its commands";
}

}  // namespace
}  // namespace berth
