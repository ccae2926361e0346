// The smoke suite of the Python client, on the embedded API server and on kube-apiserver.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/threads.h"
#include "net/curl_transport.h"
#include "sim/kube/https_frontend.h"
#include "support/control_plane.h"

namespace berth::testing {
namespace {

using std::chrono::minutes;

constexpr int kCannotBeMade = 77;

std::filesystem::path suite_folder() {
  return std::filesystem::path(std::getenv("BERTH_SOURCE_DIR")) / "tests/clients/python";
}

std::vector<std::string> environment(std::initializer_list<const char*> names) {
  std::vector<std::string> out;
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) out.push_back(std::string(name) + "=" + value);
  }
  return out;
}

class PythonClient : public ::testing::Test {
 protected:
  // Installing goes over the network, so it may need what the user has set up for that.
  void SetUp() override {
    auto env = environment({"HOME", "PATH", "BERTH_CACHE", "PIP_CONFIG_FILE", "PIP_INDEX_URL",
                            "HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE"});
    const CommandResult made = run({suite_folder() / "build", {}, env}, "", minutes{5});
    if (made.exit_code == kCannotBeMade) GTEST_SKIP() << made.err;
    ASSERT_TRUE(made.ok()) << made.err;
    python_ = made.out.substr(0, made.out.find('\n')) + "/bin/python";
  }

  void run_suite(const std::filesystem::path& kubeconfig) {
    auto env = environment({"HOME", "PATH"});
    env.push_back("KUBECONFIG=" + kubeconfig.string());
    const CommandResult ran =
        run({python_, {suite_folder() / "smoke_test.py", "-v"}, env}, "", minutes{3});
    EXPECT_TRUE(ran.ok()) << ran.out << ran.err;
  }

 private:
  std::string python_;
};

TEST_F(PythonClient, OnTheEmbeddedServer) {
  ThreadTasks tasks;
  net::CurlTransport transport;
  auto server = sim::kube::HttpsFrontend::start(tasks, {.transport = &transport});
  ASSERT_TRUE(server) << server.error().to_string();
  const auto kubeconfig = (*server)->kubeconfig("admin", {"system:masters"});
  ASSERT_TRUE(kubeconfig) << kubeconfig.error().to_string();
  const auto folder = ScratchDir::create("berth-python");
  ASSERT_TRUE(folder) << folder.error();
  const auto file = folder->path() / "kubeconfig";
  std::ofstream(file) << *kubeconfig;
  run_suite(file);
}

TEST_F(PythonClient, OnKubeApiServer) {
  if (const auto why = ControlPlane::unavailable()) GTEST_SKIP() << *why;
  const auto cluster = ControlPlane::start();
  ASSERT_TRUE(cluster) << cluster.error();
  run_suite((*cluster)->kubeconfig_path());
}

}  // namespace
}  // namespace berth::testing
