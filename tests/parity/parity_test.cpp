// Every case under cases/ on the embedded server and on a real kube-apiserver: the transcripts must
// be the same.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "both_servers.h"
#include "wire/yaml.h"

namespace berth::parity {
namespace {

constexpr std::size_t kMaxCaseFile = 1u << 20;
// Cases wait more than they work: for webhooks, for versions to come, for watches to end.
constexpr int kCasesAtOnce = 6;

// Cases that take longer are named.
constexpr Duration kSlow = std::chrono::seconds{4};

using Transcript = Result<std::vector<std::string>>;

struct NamedCase {
  std::string name{};  // "objects/create-twice"
  wire::Value steps{};
  bool alone = false;  // it disturbs others
  int number = 0;
  Duration took{};
  std::optional<Transcript> ours{};
  std::optional<Transcript> theirs{};
};

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

// BERTH_PARITY_CASES picks cases whose name contains it.
std::vector<NamedCase> load_cases() {
  const std::string wanted = environment("BERTH_PARITY_CASES", "");
  std::vector<NamedCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(
           environment("BERTH_SOURCE_DIR", ".") + "/tests/parity/cases")) {
    const auto file = wire::parse_yaml(read_file(entry.path(), kMaxCaseFile).value());
    if (!file) ADD_FAILURE() << entry.path() << ": " << file.error().to_string();
    for (const wire::Value& one : file ? file->as_array() : wire::Array{}) {
      NamedCase named{
          .name = entry.path().stem().string() + "/" + std::string(wire::string_at(one, "/name")),
          .steps = *wire::find(one, "/steps"),
          .alone = wire::bool_at(one, "/alone").value_or(false)};
      if (named.name.find(wanted) != std::string::npos) cases.push_back(std::move(named));
    }
  }
  std::ranges::sort(cases, [](const NamedCase& a, const NamedCase& b) {
    return std::tie(a.alone, a.name) < std::tie(b.alone, b.name);
  });
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].number = static_cast<int>(i);
  return cases;
}

void run(BothServers& both, NamedCase& one) {
  const Instant began = both.tasks().now();
  one.theirs = both.transcript(true, one.steps, one.number);
  one.ours = both.transcript(false, one.steps, one.number);
  one.took = both.tasks().now() - began;
}

void run_all(BothServers& both, std::vector<NamedCase>& cases) {
  const auto first_alone =
      static_cast<std::size_t>(std::ranges::find(cases, true, &NamedCase::alone) - cases.begin());
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::unique_ptr<Task>> workers;
    for (int i = 0; i < kCasesAtOnce; ++i) {
      workers.push_back(both.tasks().spawn("parity", [&](std::stop_token) {
        for (std::size_t at = next++; at < first_alone; at = next++) run(both, cases[at]);
      }));
    }
    for (const auto& worker : workers) worker->join();
  }
  for (std::size_t at = first_alone; at < cases.size(); ++at) run(both, cases[at]);
}

bool same(const NamedCase& one) {
  SCOPED_TRACE(one.name);
  const Transcript& theirs = *one.theirs;
  const Transcript& ours = *one.ours;
  EXPECT_TRUE(theirs) << "real: " << theirs.error().to_string();
  EXPECT_TRUE(ours) << "embedded: " << ours.error().to_string();
  if (!theirs || !ours) return false;
  for (std::size_t step = 0; step < ours->size(); ++step) {
    EXPECT_EQ((*ours)[step], (*theirs)[step]) << "step " << step;
  }
  return *ours == *theirs;
}

TEST(Parity, BothServersGiveTheSameAnswers) {
  if (const auto why = testing::ControlPlane::unavailable()) GTEST_SKIP() << *why;
  auto both = BothServers::start();
  ASSERT_TRUE(both) << both.error().to_string();
  std::vector<NamedCase> cases = load_cases();
  run_all(**both, cases);
  const auto alike = std::ranges::count_if(cases, same);
  for (const NamedCase& one : cases) {
    if (one.took < kSlow) continue;
    std::printf("%s took %.1f s\n", one.name.c_str(),
                std::chrono::duration<double>(one.took).count());
  }
  std::printf("parity: %td of %zu cases give the same answers\n", alike, cases.size());
}

}  // namespace
}  // namespace berth::parity
