// A fixture: one BerthCluster for all tests of a suite. Each test uses a namespace and load
// balancers of its own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rooms.h"

namespace berth {

class OnBerthCluster : public ::testing::Test {
 protected:
  static void start_cluster(BerthClusterOptions options) {
    if (testing::ControlPlane::unavailable()) return;
    auto started = BerthCluster::start(std::move(options));
    if (started) cluster_ = std::move(*started);
    if (!started) start_error_ = started.error().to_string();
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  void SetUp() override {
    if (const auto why = testing::ControlPlane::unavailable()) GTEST_SKIP() << *why;
    ASSERT_TRUE(cluster_) << start_error_;
  }
  void TearDown() override {
    if (HasFailure() && cluster_) fmt::print("{}\n", cluster_->logs());
  }

  // A pool `rooms` of this many TCP ports in a namespace of its own.
  std::string room_for(const std::string& name, int ports) {
    const std::string ns = cluster_->make_namespace(name);
    const Result<> made = make_pool(
        *cluster_,
        pool(ns, "rooms", {{.load_balancers = {load_balancer_id(ns)}, .end = 30000 + ports}}));
    EXPECT_TRUE(made) << made.error().to_string();
    return ns;
  }
  void make(const wire::Value& object) {
    const Result<wire::Value> made = cluster_->create(object);
    ASSERT_TRUE(made) << made.error().to_string();
  }
  static std::string error_of(const Result<>& result) {
    return result ? "no error" : result.error().to_string();
  }
  template <class T>
  static std::string error_of(const Result<T>& result) {
    return result ? "no error" : result.error().to_string();
  }

  inline static std::unique_ptr<BerthCluster> cluster_;
  inline static std::string start_error_;
};

}  // namespace berth
