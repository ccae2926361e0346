// Pages that walk through the playground are true: every command is run in its order against a
// started playground, must succeed, and must print what the page shows. The commands for switching
// from bcs-ingress-controller are run on what it would have left.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "base/file.h"
#include "edge/haproxy/runner.h"
#include "page.h"
#include "support/control_plane.h"
#include "support/eventually.h"
#include "support/scratch_dir.h"
#include "support/subprocess.h"

#include <fmt/format.h>

namespace berth {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using docs::missing_line;
using docs::Page;
using docs::read_page;
using docs::Sheet;
using docs::Step;

constexpr std::size_t kMaxPage = 256u << 10;

std::string slurp(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A folder as a reader has it, and a playground that runs in it.
class Reader : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = testing::ControlPlane::unavailable())
      GTEST_SKIP() << "no kubectl: " << *why;
    const char* source = std::getenv("BERTH_SOURCE_DIR");
    source_ = source ? source : ".";
    auto dir = testing::ScratchDir::create("berth-docs");
    ASSERT_TRUE(dir) << dir.error();
    dir_.emplace(std::move(*dir));
    fs::create_directory_symlink(fs::absolute(source_ / "examples"), dir_->path() / "examples");
    fs::create_directory(dir_->path() / "home");
    fs::create_directory(dir_->path() / "build");
    fs::create_symlink(BERTH_PROGRAM, dir_->path() / "build/berth");
  }

  std::vector<std::string> environment() const {
    return {fmt::format("PATH={}:/usr/bin:/bin", std::getenv("BERTH_CONTROLPLANE_DIR")),
            fmt::format("HOME={}", (dir_->path() / "home").string()),
            "TMPDIR=" + dir_->path().string()};
  }
  std::string in_folder(const std::string& script) const {
    return fmt::format("cd '{}' || exit 1\n{}", dir_->path().string(), script);
  }

  // What `make run` does after the build.
  void start_playground(const std::string& flags = "") {
    auto started = testing::Process::spawn(
        {.program = "/bin/bash",
         .args = {"-c", in_folder(fmt::format("exec '{}' playground {}", BERTH_PROGRAM, flags))},
         .env = environment()},
        log());
    ASSERT_TRUE(started) << started.error();
    playground_.emplace(std::move(*started));
    ASSERT_TRUE(testing::eventually(60s, [&] {
      return slurp(log()).find("The playground is up") != std::string::npos;
    })) << slurp(log());
  }
  fs::path log() const { return dir_->path() / "playground.log"; }
  testing::CommandResult shell(const std::string& script, std::chrono::seconds patience) const {
    return testing::run(
        {.program = "/bin/bash", .args = {"-c", in_folder(script)}, .env = environment()}, "",
        patience);
  }

  fs::path source_;
  std::optional<testing::ScratchDir> dir_;
  std::optional<testing::Process> playground_;
};

class PlaygroundPage : public Reader, public ::testing::WithParamInterface<std::string> {
 protected:
  // One shell for the whole page, as a reader has one; each command leaves its output and its exit
  // code in files of its own.
  std::string script_of(const std::vector<Step>& steps) const {
    std::string script;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::string file = (dir_->path() / fmt::format("step-{}", i)).string();
      script +=
          fmt::format("{{ {}\n}} > '{}' 2>&1; rc=$?; echo $rc > '{}.rc'; [ $rc {} 0 ] || exit 1\n",
                      steps[i].command, file, file, steps[i].is_refused() ? "!=" : "=");
    }
    return script;
  }
};

// What the playground of a page is started with; nothing if that is not what the command does.
std::optional<std::string> playground_flags(std::string_view command) {
  constexpr std::string_view kByHand = "build/berth playground ";
  if (command == "make run") return std::string();
  if (!command.starts_with(kByHand)) return std::nullopt;
  return std::string(command.substr(kByHand.size()));
}

TEST_P(PlaygroundPage, EveryCommandDoesWhatThePageSays) {
  const std::string name = "docs/" + GetParam();
  if (GetParam() == "ingress.md" && edge::haproxy::find_program().empty()) {
    ASSERT_EQ(std::getenv("CI"), nullptr) << "CI lacks haproxy";
    GTEST_SKIP() << "haproxy is not installed";
  }
  const auto page = read_file((source_ / name).string(), kMaxPage);
  ASSERT_TRUE(page) << page.error().to_string();
  auto [steps, sheets] = read_page(*page);
  for (const Sheet& sheet : sheets) {
    if (sheet.name.empty()) continue;
    std::ofstream(dir_->path() / sheet.name) << sheet.text;
    EXPECT_TRUE(std::ranges::any_of(steps,
                                    [&](const Step& step) {
                                      return step.command.find("-f " + sheet.name) !=
                                             std::string::npos;
                                    }))
        << name << ":" << sheet.line << ": nobody applies " << sheet.name;
  }
  ASSERT_GT(steps.size(), 5u);
  const std::optional<std::string> flags = playground_flags(steps.front().command);
  ASSERT_TRUE(flags) << "it does not begin with a playground: " << steps.front().command;
  steps.erase(steps.begin());
  start_playground(*flags);
  if (HasFatalFailure()) return;

  const testing::CommandResult told = shell(script_of(steps), 400s);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const fs::path file = dir_->path() / fmt::format("step-{}", i);
    const std::string printed = slurp(file);
    ASSERT_EQ(slurp(file.string() + ".rc") != "0\n", steps[i].is_refused())
        << name << ":" << steps[i].line << ": " << steps[i].command << "\n"
        << printed << told.err;
    const std::string missing = missing_line(steps[i], printed);
    EXPECT_TRUE(missing.empty()) << name << ":" << steps[i].line << ": " << steps[i].command
                                 << "\ndid not print: " << missing << "\nbut:\n"
                                 << printed;
  }

  // Ctrl-C, and nothing is left.
  ::kill(playground_->pid(), SIGINT);
  ASSERT_TRUE(playground_->wait(20s)) << "it does not stop";
  EXPECT_EQ(playground_->exit_code(), 0) << slurp(log());
  EXPECT_FALSE(fs::exists(dir_->path() / "berth-playground.kubeconfig"));
}

// Rooms that have no port of Berth, and what led to them.
constexpr std::string_view kLeftByTheOldController = R"(
apiVersion: v1
kind: Namespace
metadata: {name: games}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: room, namespace: games}
spec:
  serviceName: room
  replicas: 2
  selector: {matchLabels: {app: room}}
  template:
    metadata:
      labels: {app: room}
      annotations:
        portpools.networkextension.bkbcs.tencent.com: "true"
        ports.portpools.networkextension.bkbcs.tencent.com: "rooms TCP 8000"
    spec: {containers: [{name: room, image: "room:1", ports: [{containerPort: 8000}]}]}
)";

// Last: Listeners that are there are not made.
constexpr std::string_view kOldPool = R"(
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: rooms, namespace: games, finalizers: [ingresscontroller.bkbcs.tencent.com]}
spec:
  poolItems:
  - {itemName: item1, loadBalancerIDs: ["edge:old"], protocol: TCP, startPort: 30000, endPort: 30010}
)";

// One port of that pool, as the old controller left it: TCP, bound to a room.
std::string left_behind(int number) {
  return fmt::format(R"(
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Listener
metadata:
  name: old-tcp-{0}
  namespace: games
  finalizers: [ingresscontroller.bkbcs.tencent.com]
  labels: {{owner-kind: PortPool, owner-name: rooms, portpool.bkbcs.tencent.com: "true"}}
spec: {{loadbalancerID: "edge:old", port: {0}, protocol: TCP}}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortBinding
metadata:
  name: room-{1}
  namespace: games
  finalizers: [ingresscontroller.bkbcs.tencent.com]
  labels: {{portpool.rooms.games: item1, type.portbinding.bkbcs.tencent.com: Pod}}
spec: {{}}
)",
                     30000 + number, number);
}

// The ```sh block that has this text.
std::string block_with(const std::string& page, std::string_view text) {
  const std::size_t at = page.find(text);
  const std::size_t begin = page.rfind("```sh\n", at);
  if (at == std::string::npos || begin == std::string::npos) return {};
  return page.substr(begin + 6, page.find("```", at) - begin - 6);
}

TEST_F(Reader, SwitchesFromTheOldControllerWithTheCommandsOfThePage) {
  const std::string commands = block_with(slurp(source_ / "docs/port-pools.md"), "> old-listeners");
  ASSERT_FALSE(commands.empty());
  std::ofstream(dir_->path() / "left.yaml")
      << kLeftByTheOldController << left_behind(0) << left_behind(1) << kOldPool;
  start_playground("--empty");
  if (HasFatalFailure()) return;

  const testing::CommandResult told = shell(
      "set -ex\nexport KUBECONFIG=$PWD/berth-playground.kubeconfig\n"
      "kubectl apply -f left.yaml\n"
      "kubectl -n games wait pod/room-0 pod/room-1 --for=condition=Ready --timeout=60s\n"
      "kubectl label namespace games bcs-ingress-controller-inject=true\n"
      "kubectl -n games wait portpool/rooms --for=jsonpath='{.status.status}'=NotReady "
      "--timeout=60s\n" +
          commands +
          "kubectl -n games wait statefulset/room --for=jsonpath='{.status.readyReplicas}'=3 "
          "--timeout=60s\n"
          "for room in 0 1 2; do kubectl -n games wait portbinding/room-$room "
          "--for=jsonpath='{.status.status}'=Ready --timeout=60s; done\n"
          "build/berth status\n",
      400s);
  EXPECT_TRUE(told.ok()) << told.out << told.err;
  EXPECT_NE(told.out.find("claims: 3 bound"), std::string::npos) << told.out;
}

TEST(Demo, PlaysThroughAndSaysSo) {
  const testing::CommandResult told =
      testing::run({.program = BERTH_PROGRAM, .args = {"demo", "-o", "json"}, .env = {}}, "", 60s);
  EXPECT_TRUE(told.ok()) << told.out << told.err;
  EXPECT_NE(told.out.find(R"("passed":true)"), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("the new one is at the same address"), std::string::npos) << told.out;
}

TEST(PortPoolsPage, EveryObjectIsApplied) {
  const char* source = std::getenv("BERTH_SOURCE_DIR");
  const Page page = read_page(slurp(fs::path(source ? source : ".") / "docs/port-pools.md"));
  EXPECT_GT(page.sheets.size(), 3u);
  for (const Sheet& sheet : page.sheets)
    EXPECT_FALSE(sheet.name.empty()) << "docs/port-pools.md:" << sheet.line << ": has no file name";
}

TEST(HostPortsPage, ShowsTheExampleAsItIs) {
  const char* source = std::getenv("BERTH_SOURCE_DIR");
  const fs::path folder = source ? source : ".";
  const std::string page = slurp(folder / "docs/host-ports.md");
  const std::size_t begin = page.find("```yaml\n") + 8;
  const std::string shown = page.substr(begin, page.find("```", begin) - begin);
  EXPECT_NE(slurp(folder / "examples/host-ports.yaml").find(shown), std::string::npos) << shown;
}

INSTANTIATE_TEST_SUITE_P(Docs, PlaygroundPage,
                         ::testing::Values("playground.md", "host-ports.md", "port-pools.md",
                                           "tencent.md", "quick-start.md", "ingress.md", "plan.md"),
                         [](const auto& page) {
                           std::string name = page.param.substr(0, page.param.find('.'));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace berth
