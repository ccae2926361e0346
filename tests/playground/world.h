// A fixture: a playground of its own for each test, and what a person would do with it.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "api/listener.h"
#include "api/pod_ports.h"
#include "api/port_pool.h"
#include "base/file.h"
#include "base/log.h"
#include "base/threads.h"
#include "net/curl_transport.h"
#include "playground/playground.h"
#include "support/scratch_dir.h"

namespace berth {

using namespace std::chrono_literals;

// A PortPool; its spec in YAML's one-line form.
inline std::string pool_yaml(const std::string& ns, const std::string& name,
                             const std::string& spec) {
  return fmt::format(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {{name: {}, namespace: {}}}
spec: {}
)",
                     name, ns, spec);
}

class World : public ::testing::Test {
 protected:
  void SetUp() override {
    set_log_level(LogLevel::error);
    auto dir = testing::ScratchDir::create("berth-world");
    ASSERT_TRUE(dir) << dir.error();
    dir_.emplace(std::move(*dir));
    start(options());
  }
  // What each test begins with.
  virtual playground::Options options() const { return {}; }

  void start(playground::Options options) {
    play_.reset();
    options.kubeconfig_path = (dir_->path() / "kubeconfig").string();
    auto play = playground::Playground::start(context_, std::move(options));
    ASSERT_TRUE(play) << play.error().to_string();
    play_ = std::move(*play);
  }

  static std::string example(const std::string& name) {
    const char* source = std::getenv("BERTH_SOURCE_DIR");
    const auto path = std::filesystem::path(source ? source : ".") / "examples" / name;
    return read_file(path.string(), 256u << 10).value_or("");
  }

  void create(std::string_view yaml) {
    const Result<> made = play_->create(context_.within(120s), yaml);
    EXPECT_TRUE(made) << made.error().to_string();
  }
  // Its Pods may use port pools.
  void make_namespace(const std::string& name) {
    create(fmt::format(R"(
apiVersion: v1
kind: Namespace
metadata: {{name: {}, labels: {{bcs-ingress-controller-inject: "true"}}}}
)",
                       name));
  }
  // The refusal; empty when it was let in.
  std::string refused(std::string_view yaml) {
    const Result<> made = play_->create(context_.within(120s), yaml);
    return made ? std::string() : made.error().to_string();
  }

  wire::Value get(const kube::ResourceType& type, const std::string& ns, const std::string& name) {
    Result<wire::Value> found = play_->client().get(context_.within(120s), type, {ns, name});
    return found ? std::move(*found) : wire::Value();
  }
  std::vector<wire::Value> list(const kube::ResourceType& type, const std::string& ns = {}) {
    Result<kube::ListPage> page = play_->client().list_all(context_.within(120s), type, {.ns = ns});
    EXPECT_TRUE(page) << page.error().to_string();
    return page ? std::move(page->items) : std::vector<wire::Value>{};
  }
  void merge(const kube::ResourceType& type, const kube::ObjectKey& key, std::string_view json) {
    Result<wire::Value> done = play_->client().patch(
        context_.within(120s), type, key, kube::PatchType::merge, wire::parse_json(json).value());
    EXPECT_TRUE(done) << done.error().to_string();
  }

  template <class Condition>
  bool eventually(Condition condition, Duration timeout = 60s) {
    const Context patience = context_.within(timeout);
    while (!condition()) {
      if (patience.expired() || !sleep_for(tasks_, 20ms, {})) return false;
    }
    return true;
  }
  bool pool_is_ready(const std::string& ns, const std::string& name) {
    return eventually([&] {
      return wire::string_at(get(api::port_pool_kind().type, ns, name), "/status/status") ==
             "Ready";
    });
  }
  void room_is_ready(const std::string& pod) {
    const auto room = play_->wait_for_room(context_.within(60s), pod);
    EXPECT_TRUE(room) << pod << ": " << room.error().to_string();
  }

  std::string metrics() {
    net::CurlTransport transport;
    const auto answer =
        transport.call(context_.within(120s), {.url = play_->ops_url() + "/metrics"});
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer ? answer->body : std::string();
  }

  // What a simulated cloud shows of itself.
  wire::Value cloud() {
    net::TlsSettings tls;
    tls.insecure = true;  // as `curl -k`
    net::CurlTransport transport;
    const auto answer = transport.call(
        context_.within(60s), {.url = play_->cloud_url() + "/dump",
                               .tls = std::make_shared<const net::TlsSettings>(std::move(tls))});
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer ? wire::parse_json(answer->body).value_or(wire::Value()) : wire::Value();
  }

  ThreadTasks tasks_;
  const Context context_{.tasks = tasks_};
  std::optional<testing::ScratchDir> dir_;
  std::unique_ptr<playground::Playground> play_;
};

}  // namespace berth
