// The smoke suite of the Python client, on the embedded API server and on kube-apiserver.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/threads.h"
#include "net/curl_transport.h"
#include "sim/kube/https_frontend.h"
#include "support/control_plane.h"
#include "support/python_packages.h"

namespace berth::testing {
namespace {

using std::chrono::minutes;

class PythonClient : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto python = python_with(tests_folder() / "clients/python/requirements.txt");
    if (!python) {
      ASSERT_TRUE(python.error().may_be) << python.error().why;
      GTEST_SKIP() << python.error().why;
    }
    python_ = *python;
  }

  void run_suite(const std::filesystem::path& kubeconfig) {
    auto env = environment_of({"HOME", "PATH"});
    env.push_back("KUBECONFIG=" + kubeconfig.string());
    const CommandResult ran = run(
        {python_, {tests_folder() / "clients/python/smoke_test.py", "-v"}, env}, "", minutes{3});
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
