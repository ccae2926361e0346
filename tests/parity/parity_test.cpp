// Every case under cases/ on the embedded server and on a real kube-apiserver: the transcripts must
// be the same.

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/threads.h"
#include "net/curl_transport.h"
#include "sim/kube/https_frontend.h"
#include "support/control_plane.h"
#include "transcript.h"
#include "wire/yaml.h"

namespace berth::parity {
namespace {

constexpr std::size_t kMaxCaseFile = 1u << 20;

struct NamedCase {
  std::string name;  // "objects/create-twice"
  wire::Value steps;
};

std::vector<NamedCase> load_cases() {
  const char* source = std::getenv("BERTH_SOURCE_DIR");
  std::vector<NamedCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(source ? source : ".") +
                                                               "/tests/parity/cases")) {
    const auto file = wire::parse_yaml(read_file(entry.path(), kMaxCaseFile).value());
    if (!file) ADD_FAILURE() << entry.path() << ": " << file.error().to_string();
    for (const wire::Value& one : file ? file->as_array() : wire::Array{}) {
      cases.push_back(
          {entry.path().stem().string() + "/" + std::string(wire::string_at(one, "/name")),
           *wire::find(one, "/steps")});
    }
  }
  std::ranges::sort(cases, {}, &NamedCase::name);
  return cases;
}

// The two servers, started once for all cases.
class BothServers {
 public:
  static Result<std::unique_ptr<BothServers>> start() {
    auto both = std::make_unique<BothServers>();
    auto real = testing::ControlPlane::start();
    if (!real) return fail(Code::unavailable, "{}", real.error());
    both->real_ = std::move(*real);
    auto embedded = sim::kube::HttpsFrontend::start(both->tasks_, {.transport = &both->transport_});
    if (!embedded) return pass(embedded);
    both->embedded_ = std::move(*embedded);
    const std::string file =
        std::filesystem::temp_directory_path() / fmt::format("berth-parity-{}", ::getpid());
    auto kubeconfig = both->embedded_->kubeconfig("admin", {"system:masters"});
    if (!kubeconfig) return pass(kubeconfig);
    if (auto written = write_file(file, *kubeconfig, 0600); !written) return pass(written);
    auto ours = kube::load_kubeconfig({file}, "");
    std::filesystem::remove(file);
    if (!ours) return pass(ours);
    auto theirs = kube::load_kubeconfig({both->real_->kubeconfig_path()}, "");
    if (!theirs) return pass(theirs);
    both->ours_ = *ours;
    both->theirs_ = *theirs;
    return both;
  }

  Result<std::vector<std::string>> transcript(bool real, const NamedCase& one, int number) {
    const Context context{.tasks = tasks_};
    const Peer peer{transport_, real ? theirs_ : ours_};
    const std::string ns = fmt::format("parity-{}", number);
    const wire::Value make_namespace =
        wire::Array{wire::Object{{"do", "POST /api/v1/namespaces"},
                                 {"body", wire::Object{{"metadata", wire::Object{{"name", ns}}}}}}};
    if (auto made = run_case(context, peer, make_namespace, {}); !made) return made;
    return run_case(context, peer, one.steps,
                    {{"ns", ns}, {"group", fmt::format("g{}.parity.berth.dev", number)}});
  }

 private:
  ThreadTasks tasks_;
  net::CurlTransport transport_;
  std::unique_ptr<testing::ControlPlane> real_;
  std::unique_ptr<sim::kube::HttpsFrontend> embedded_;
  std::shared_ptr<const kube::ClusterConfig> ours_;
  std::shared_ptr<const kube::ClusterConfig> theirs_;
};

TEST(Parity, BothServersGiveTheSameAnswers) {
  if (const auto why = testing::ControlPlane::unavailable()) GTEST_SKIP() << *why;
  auto both = BothServers::start();
  ASSERT_TRUE(both) << both.error().to_string();
  const std::vector<NamedCase> cases = load_cases();
  int same = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].name);
    const auto theirs = (*both)->transcript(true, cases[i], static_cast<int>(i));
    const auto ours = (*both)->transcript(false, cases[i], static_cast<int>(i));
    EXPECT_TRUE(theirs) << theirs.error().to_string();
    EXPECT_TRUE(ours) << ours.error().to_string();
    if (!theirs || !ours) continue;
    for (std::size_t step = 0; step < ours->size(); ++step) {
      EXPECT_EQ((*ours)[step], (*theirs)[step]) << "step " << step;
    }
    same += *ours == *theirs;
  }
  std::printf("parity: %d of %zu cases give the same answers\n", same, cases.size());
}

}  // namespace
}  // namespace berth::parity
