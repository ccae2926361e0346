// Command lines of kubectl against the embedded server and a real kube-apiserver: what it prints,
// and how it ends, must be the same.

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "base/file.h"
#include "base/threads.h"
#include "sim/kube/https_frontend.h"
#include "support/control_plane.h"
#include "support/eventually.h"
#include "support/scratch_dir.h"
#include "support/subprocess.h"
#include "wire/yaml.h"

namespace berth::parity {
namespace {

namespace fs = std::filesystem;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::size_t kMaxCaseFile = 1u << 20;
constexpr std::chrono::milliseconds kCommandTimeout{30'000};
constexpr std::chrono::milliseconds kStopGrace{2'000};

std::string environment_or(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

// What differs between servers or runs.
std::string masked(std::string text) {
  static const std::vector<std::pair<std::regex, std::string>> kMasks = {
      {std::regex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"},
      {std::regex(R"((resourceVersion|Resource Version): +"?\d+"?)"), "$1: <version>"},
      {std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)"), "<time>"},
      {std::regex(R"([A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4})"), "<time>"},
      {std::regex(R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4})"), "<time>"},
      {std::regex(R"(\b\d+(m\d+)?s\b)"), "<age>"},
      {std::regex(R"((LIVE|MERGED)-\d+)"), "$1"},
      {std::regex(R"(/tmp/kubectl-edit-[\w.-]+)"), "<edited>"},
      {std::regex("[ \t]+"), " "},  // columns are as wide as what was masked
      {std::regex(" \n"), "\n"}};
  for (const auto& [pattern, shown] : kMasks) text = std::regex_replace(text, pattern, shown);
  return text;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Words as a shell cuts them: single quotes keep spaces.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  bool quoted = false;
  bool open = false;
  for (const char c : line) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      open = false;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    if (c != '\'') words.back() += c;
  }
  return words;
}

// One of the two servers, with a home for kubectl's caches and the files of a case.
class Side {
 public:
  Side(fs::path home, const fs::path& kubeconfig) : home_(std::move(home)) {
    fs::create_directories(home_);
    environment_ = {"HOME=" + home_.string(), "KUBECONFIG=" + kubeconfig.string(),
                    "PATH=" + environment_or("PATH", "/usr/bin:/bin")};
  }

  void begin(const Value& one, int number) {
    ns_ = fmt::format("kubectl-{}", number);
    group_ = fmt::format("g{}.kubectl.berth.dev", number);
    (void)run("create namespace " + ns_, {});
    const Object* files = wire::object_at(one, "/files");
    for (const auto& file : files == nullptr ? Object() : *files) {
      const std::string name(file.key());
      ASSERT_TRUE(write_file(home_ / name, expand(std::string(file.value().as_string())), 0600));
    }
  }

  // What the step showed, masked.
  std::string step(const Value& step) {
    if (!wire::string_at(step, "/watch").empty()) return watch(step);
    if (const auto line = wire::string_at(step, "/until"); !line.empty()) {
      const auto done = [&] { return run(line, {}).ok(); };
      return testing::eventually(kCommandTimeout, done) ? "done" : "never done";
    }
    const testing::CommandResult result =
        run(wire::string_at(step, "/run"), wire::string_at(step, "/editor"));
    return fmt::format("exit {}\n{}", result.exit_code, shown(result.out + result.err));
  }

 private:
  std::string expand(std::string text) const {
    replace_all(text, "$ns", ns_);
    replace_all(text, "$group", group_);
    replace_all(text, "$dir", home_.string());
    return text;
  }

  std::string shown(std::string text) const {
    replace_all(text, home_.string(), "$dir");
    return masked(std::move(text));
  }

  testing::Command command(std::string_view line, std::string_view editor) const {
    testing::Command command{kubectl_, words_of(expand(std::string(line))), environment_};
    if (line.find("--all-namespaces") == std::string_view::npos) {
      command.args.insert(command.args.begin(), "--namespace=" + ns_);
    }
    if (!editor.empty()) command.env.push_back("KUBE_EDITOR=" + std::string(editor));
    return command;
  }

  testing::CommandResult run(std::string_view line, std::string_view editor) const {
    return testing::run(command(line, editor), {}, kCommandTimeout);
  }

  // Keeps a watch open until it printed `lines`; `meanwhile` makes it print.
  std::string watch(const Value& step) const {
    const fs::path log = home_ / "watch.log";
    fs::remove(log);
    auto process = testing::Process::spawn(command(wire::string_at(step, "/watch"), {}), log);
    if (!process) return process.error();
    const auto wanted = static_cast<std::size_t>(wire::int_at(step, "/lines").value_or(1));
    const auto seen = [&log] {
      const auto text = read_file(log, kMaxCaseFile);
      return text ? *text : std::string();
    };
    // What is there already comes first: only then can a change be told from it.
    (void)testing::eventually(kCommandTimeout, [&] { return !lines_of(seen()).empty(); });
    if (const Array* commands = wire::array_at(step, "/meanwhile")) {
      for (const Value& line : *commands) (void)run(line.as_string(), {});
    }
    (void)testing::eventually(kCommandTimeout, [&] { return lines_of(seen()).size() >= wanted; });
    process->stop(kStopGrace);
    return shown(seen());
  }

  const fs::path kubectl_ = fs::path(environment_or("BERTH_CONTROLPLANE_DIR", "")) / "kubectl";
  fs::path home_;
  std::vector<std::string> environment_;
  std::string ns_;
  std::string group_;
};

// Lines that a step does not compare, or (with `only`) the only ones that it does.
std::string selected(const Value& step, const std::string& text) {
  const std::string only(wire::string_at(step, "/only"));
  const std::string without(wire::string_at(step, "/without"));
  if (only.empty() && without.empty()) return text;
  std::string kept;
  for (const std::string& line : lines_of(text)) {
    const bool wanted = only.empty() || std::regex_search(line, std::regex(only));
    const bool unwanted = !without.empty() && std::regex_search(line, std::regex(without));
    if (wanted && !unwanted) kept += line + '\n';
  }
  return kept;
}

void compare(const Value& step, const std::string& ours, const std::string& theirs) {
  if (!wire::bool_at(step, "/subset").value_or(false)) {
    EXPECT_EQ(selected(step, ours), selected(step, theirs));
    return;
  }
  // The real server has more of everything: ours must be among it.
  const std::vector<std::string> all = lines_of(selected(step, theirs));
  const std::set<std::string> known(all.begin(), all.end());
  for (const std::string& line : lines_of(selected(step, ours))) {
    EXPECT_TRUE(known.contains(line)) << "only the embedded server says: " << line;
  }
}

class KubectlOutput : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = testing::ControlPlane::unavailable()) GTEST_SKIP() << *why;
    auto scratch = testing::ScratchDir::create("berth-kubectl-output");
    ASSERT_TRUE(scratch) << scratch.error();
    scratch_.emplace(std::move(*scratch));
    auto real = testing::ControlPlane::start();
    ASSERT_TRUE(real) << real.error();
    real_ = std::move(*real);
    auto embedded = sim::kube::HttpsFrontend::start(tasks_, {});
    ASSERT_TRUE(embedded) << embedded.error().to_string();
    embedded_ = std::move(*embedded);
    const auto kubeconfig = embedded_->kubeconfig("admin", {"system:masters"});
    ASSERT_TRUE(kubeconfig) << kubeconfig.error().to_string();
    const fs::path ours = scratch_->path() / "kubeconfig";
    ASSERT_TRUE(write_file(ours, *kubeconfig, 0600));
    ours_.emplace(scratch_->path() / "ours", ours);
    theirs_.emplace(scratch_->path() / "real", real_->kubeconfig_path());
  }

  void run(const Value& one, int number) {
    ours_->begin(one, number);
    theirs_->begin(one, number);
    for (const Value& step : *wire::array_at(one, "/steps")) {
      SCOPED_TRACE(wire::to_json(step));
      const std::string theirs = theirs_->step(step);
      const std::string ours = ours_->step(step);
      compare(step, ours, theirs);
    }
  }

  ThreadTasks tasks_;
  std::optional<testing::ScratchDir> scratch_;
  std::unique_ptr<testing::ControlPlane> real_;
  std::unique_ptr<sim::kube::HttpsFrontend> embedded_;
  std::optional<Side> ours_;
  std::optional<Side> theirs_;
};

TEST_F(KubectlOutput, IsTheSameOnBothServers) {
  const std::string wanted = environment_or("BERTH_PARITY_CASES", "");
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(
           fs::path(environment_or("BERTH_SOURCE_DIR", ".")) / "tests/parity/kubectl")) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  int number = 0;
  for (const fs::path& path : files) {
    const auto file = wire::parse_yaml(read_file(path, kMaxCaseFile).value());
    ASSERT_TRUE(file) << path << ": " << file.error().to_string();
    for (const Value& one : file->as_array()) {
      const std::string name =
          fmt::format("{}/{}", path.stem().string(), wire::string_at(one, "/name"));
      if (name.find(wanted) == std::string::npos) continue;
      SCOPED_TRACE(name);
      run(one, number++);
    }
  }
  std::printf("kubectl: %d cases, %s\n", number,
              HasFailure() ? "with differences" : "all the same");
}

}  // namespace
}  // namespace berth::parity
