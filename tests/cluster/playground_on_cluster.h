// A fixture: the playground on a real kube-apiserver, started for each test.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/threads.h"
#include "playground/playground.h"
#include "support/control_plane.h"

namespace berth {

class PlaygroundOnCluster : public ::testing::Test {
 protected:
  explicit PlaygroundOnCluster(bool bring_workloads) : bring_workloads_(bring_workloads) {}

  void SetUp() override {
    if (const auto why = testing::ControlPlane::unavailable()) GTEST_SKIP() << *why;
    auto started = testing::ControlPlane::start();
    ASSERT_TRUE(started) << started.error();
    cluster_ = std::move(*started);
    auto play = playground::Playground::start(
        context_, {.cluster_kubeconfig = cluster_->kubeconfig_path().string(),
                   .bring_workloads = bring_workloads_});
    ASSERT_TRUE(play) << play.error().to_string();
    play_ = std::move(*play);
  }

  // The path of a file in examples/.
  static std::string example(const std::string& name) {
    const char* source = std::getenv("BERTH_SOURCE_DIR");
    return std::string(source ? source : ".") + "/examples/" + name;
  }
  // What kubectl prints; a failure of it is one of the test.
  std::string run(const std::vector<std::string>& args) {
    const auto result = cluster_->kubectl(args);
    EXPECT_TRUE(result.ok()) << args.front() << " " << args.back() << ": " << result.out
                             << result.err;
    return result.out;
  }

  const bool bring_workloads_;
  ThreadTasks tasks_;
  const Context context_{.tasks = tasks_};
  std::unique_ptr<testing::ControlPlane> cluster_;
  std::unique_ptr<playground::Playground> play_;
};

}  // namespace berth
