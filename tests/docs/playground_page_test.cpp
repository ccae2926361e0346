// Pages that walk through the playground are true: every command is run in its order against a
// started playground, must succeed, and must print what the page shows.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/file.h"
#include "support/control_plane.h"
#include "support/eventually.h"
#include "support/scratch_dir.h"
#include "support/subprocess.h"

#include <fmt/format.h>

namespace berth {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::size_t kMaxPage = 256u << 10;

struct Step {
  std::string command;
  std::vector<std::string> output{};  // lines; "..." stands for anything
  int line = 0;

  // A command that is shown to be refused must fail, all others must not.
  bool is_refused() const {
    return std::ranges::any_of(output, [](const std::string& text) {
      return text.find("Error from server") != std::string::npos ||
             text.find(" is invalid:") != std::string::npos || text.starts_with("  no    ");
    });
  }
};

// A ```yaml block that begins with `# NAME.yaml` is a file of that name.
struct Sheet {
  std::string name;
  std::string text{};
  int line = 0;
};

struct Page {
  std::vector<Step> steps{};
  std::vector<Sheet> sheets{};
};

// Lines after `$ ` in ```console blocks are commands; those that follow are their output.
Page read_page(const std::string& page) {
  Page out;
  std::istringstream in(page);
  std::string text;
  std::string block;  // the language of the one that we are in
  for (int line = 1; std::getline(in, text); ++line) {
    if (text.starts_with("```")) {
      block = text.substr(3);
      if (block == "yaml") out.sheets.push_back({.name = {}, .line = line});
    } else if (block == "console" && text.starts_with("$ ")) {
      out.steps.push_back({.command = text.substr(2), .line = line});
    } else if (block == "console" && !out.steps.empty()) {
      out.steps.back().output.push_back(text);
    } else if (block == "yaml") {
      Sheet& sheet = out.sheets.back();
      if (sheet.text.empty() && text.starts_with("# ") && text.ends_with(".yaml"))
        sheet.name = text.substr(2);
      sheet.text += text + "\n";
    }
  }
  return out;
}

// Runs of blanks count as one: columns are as wide as their widest entry.
std::string squeezed(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

bool matches(std::string_view line, std::string_view pattern) {
  const std::size_t gap = pattern.find("...");
  if (gap == std::string_view::npos) return line == pattern;
  if (!line.starts_with(pattern.substr(0, gap))) return false;
  line.remove_prefix(gap);
  pattern.remove_prefix(gap + 3);
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (matches(line.substr(i), pattern)) return true;
  }
  return false;
}

// The first expected line that is not there, in order; empty when all are.
std::string missing_line(const Step& step, const std::string& printed) {
  std::istringstream in(printed);
  std::string line;
  for (const std::string& wanted : step.output) {
    bool found = false;
    while (!found && std::getline(in, line)) found = matches(squeezed(line), squeezed(wanted));
    if (!found) return wanted;
  }
  return {};
}

std::string slurp(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class PlaygroundPage : public ::testing::TestWithParam<std::string> {
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
  void start_playground() {
    auto started = testing::Process::spawn(
        {.program = "/bin/bash",
         .args = {"-c", in_folder(fmt::format("exec '{}' playground", BERTH_PROGRAM))},
         .env = environment()},
        log());
    ASSERT_TRUE(started) << started.error();
    playground_.emplace(std::move(*started));
    ASSERT_TRUE(testing::eventually(60s, [&] {
      return slurp(log()).find("The playground is up") != std::string::npos;
    })) << slurp(log());
  }
  fs::path log() const { return dir_->path() / "playground.log"; }

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

  fs::path source_;
  std::optional<testing::ScratchDir> dir_;
  std::optional<testing::Process> playground_;
};

TEST_P(PlaygroundPage, EveryCommandDoesWhatThePageSays) {
  const std::string name = "docs/" + GetParam();
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
  ASSERT_EQ(steps.front().command, "make run");
  steps.erase(steps.begin());
  start_playground();
  if (HasFatalFailure()) return;

  const testing::CommandResult shell = testing::run(
      {.program = "/bin/bash", .args = {"-c", in_folder(script_of(steps))}, .env = environment()},
      "", 400s);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const fs::path file = dir_->path() / fmt::format("step-{}", i);
    const std::string printed = slurp(file);
    ASSERT_EQ(slurp(file.string() + ".rc") != "0\n", steps[i].is_refused())
        << name << ":" << steps[i].line << ": " << steps[i].command << "\n"
        << printed << shell.err;
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

TEST(Demo, PlaysThroughAndSaysSo) {
  // People watch it for ten seconds; a busy machine may take much longer.
  const testing::CommandResult told =
      testing::run({.program = BERTH_PROGRAM, .args = {"demo", "-o", "json"}, .env = {}}, "", 120s);
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
                         ::testing::Values("playground.md", "host-ports.md", "port-pools.md"),
                         [](const auto& page) {
                           std::string name = page.param.substr(0, page.param.find('.'));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace berth
