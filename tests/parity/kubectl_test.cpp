// What kubectl itself does with the embedded server: logs, and a file of a Pod.

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "base/threads.h"
#include "net/curl_transport.h"
#include "sim/kube/https_frontend.h"
#include "support/control_plane.h"
#include "support/scratch_dir.h"
#include "support/subprocess.h"

namespace berth::parity {
namespace {

constexpr std::chrono::seconds kPatience{30};

class Node final : public sim::kube::PodRuntime {
 public:
  Result<sim::kube::ExecResult> exec(const wire::Value&, const std::string&,
                                     const std::vector<std::string>& command) override {
    if (command == std::vector<std::string>{"cat", "/etc/podinfo/annotations"}) {
      return sim::kube::ExecResult{.output = "berth.dev/address=\"192.0.2.1:7000\"\n"};
    }
    return sim::kube::ExecResult{.errors = "cat: no such file\n", .exit_code = 1};
  }
  Result<std::string> log(const wire::Value&, const std::string&, bool) override {
    return std::string("one\ntwo\n");
  }
};

struct Kubectl : ::testing::Test {
  void SetUp() override {
    if (const auto why = testing::ControlPlane::unavailable()) GTEST_SKIP() << *why;
    scratch.emplace(testing::ScratchDir::create("berth-kubectl").value());
    sim::kube::HttpsOptions options;
    options.server.pod_runtime = &node;
    front = sim::kube::HttpsFrontend::start(tasks, std::move(options)).value();
    kubeconfig = scratch->path() / "kubeconfig";
    ASSERT_TRUE(
        write_file(kubeconfig, front->kubeconfig("admin", {"system:masters"}).value(), 0600));
    const auto made =
        kubectl({"create", "--validate=false", "-f", "-"},
                R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},)"
                R"("spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})");
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  testing::CommandResult kubectl(std::vector<std::string> args, std::string_view input = {}) {
    args.insert(args.begin(), "--kubeconfig=" + kubeconfig);
    const std::filesystem::path programs = std::getenv("BERTH_CONTROLPLANE_DIR");
    return testing::run(
        {programs / "kubectl", std::move(args), {"HOME=" + scratch->path().string()}}, input,
        kPatience);
  }

  ThreadTasks tasks;
  Node node;
  std::optional<testing::ScratchDir> scratch;
  std::string kubeconfig;
  std::unique_ptr<sim::kube::HttpsFrontend> front;
};

TEST_F(Kubectl, ReadsLogs) {
  EXPECT_EQ(kubectl({"logs", "p"}).out, "one\ntwo\n");
  EXPECT_EQ(kubectl({"logs", "p", "-c", "c", "--tail=1"}).out, "two\n");
  EXPECT_NE(kubectl({"logs", "p", "-c", "other"}).exit_code, 0);
}

TEST_F(Kubectl, ReadsAFileOfAPod) {
  const auto read = kubectl({"exec", "p", "--", "cat", "/etc/podinfo/annotations"});
  EXPECT_EQ(read.out, "berth.dev/address=\"192.0.2.1:7000\"\n") << read.err;
  EXPECT_EQ(read.exit_code, 0);
  const auto missing = kubectl({"exec", "p", "--", "cat", "/missing"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_NE(missing.err.find("cat: no such file"), std::string::npos) << missing.err;
}

}  // namespace
}  // namespace berth::parity
