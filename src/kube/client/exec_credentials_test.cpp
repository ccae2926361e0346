#include "kube/client/exec_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/threads.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kV1 = "client.authentication.k8s.io/v1";

TEST(ExecOutput, Reads) {
  const auto output = parse_exec_output(
      R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",
          "status":{"token":" t ","expirationTimestamp":"2026-01-02T03:04:05Z"}})",
      kV1);
  ASSERT_TRUE(output) << output.error().to_string();
  EXPECT_EQ(output->token.reveal(), "t");
  EXPECT_EQ(output->expires, parse_rfc3339("2026-01-02T03:04:05Z").value());
}

TEST(ExecOutput, RefusesWithoutShowing) {
  const struct {
    std::string_view status, error;
  } cases[] = {
      {R"({})", "status: has neither"},
      {R"({"token":"ses ame"})", "status.token: the token has"},
      {R"({"clientCertificateData":"sesame"})", "must come together"},
      {R"({"token":"t","clientKeyData":"sesame"})", "must come together"},
      {R"({"clientCertificateData":"sesame","clientKeyData":"sesame"})", "status.clientKeyData"},
      {R"({"token":"t","expirationTimestamp":"soon"})", "status.expirationTimestamp"},
  };
  for (const auto& c : cases) {
    const auto output = parse_exec_output(
        fmt::format(R"({{"apiVersion":"{}","kind":"ExecCredential","status":{}}})", kV1, c.status),
        kV1);
    ASSERT_FALSE(output) << c.status;
    EXPECT_THAT(output.error().to_string(), HasSubstr(c.error));
    EXPECT_THAT(output.error().to_string(), Not(HasSubstr("ses")));
  }
  EXPECT_FALSE(parse_exec_output("sesame", kV1));
  EXPECT_FALSE(parse_exec_output(R"({"kind":"Pod"})", kV1));
  EXPECT_EQ(
      parse_exec_output(R"({"kind":"ExecCredential","apiVersion":"x"})", kV1).error().to_string(),
      "invalid: apiVersion: must be client.authentication.k8s.io/v1, which was asked for");
}

TEST(ExecInfo, ShowsTheClusterOnlyWhenAsked) {
  ExecEntry exec{.api_version = std::string(kV1)};
  ClusterEntry cluster{.server = "https://h", .tls_server_name = "k", .proxy_url = "http://p"};
  cluster.exec_config = wire::parse_json(R"({"audience":"a"})").value();
  const auto info = [&] { return wire::parse_json(exec_info(exec, cluster, "PEM")).value(); };
  EXPECT_EQ(info(), wire::parse_json(R"({"apiVersion":"client.authentication.k8s.io/v1",
      "kind":"ExecCredential","spec":{"interactive":false}})")
                        .value());
  exec.provide_cluster_info = true;
  EXPECT_EQ(*wire::find(info(), "/spec/cluster"),
            wire::parse_json(R"({"server":"https://h","tls-server-name":"k",
      "certificate-authority-data":"UEVN","proxy-url":"http://p","config":{"audience":"a"}})")
                .value());
}

// A plugin that is a shell script; it counts its runs in a file.
class ExecCredentialsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/berth-exec-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    set_log_sink([](std::string_view) {});
  }
  void TearDown() override {
    set_log_sink({});
    std::filesystem::remove_all(folder_);
  }

  void plugin(std::string_view body) {
    EXPECT_TRUE(write_file(folder_ + "/plugin",
                           fmt::format("#!/bin/sh\necho run >> {}/runs\n{}\n", folder_, body),
                           0755));
  }
  void plugin_prints(std::string_view status) {
    plugin(fmt::format("echo '{{\"apiVersion\":\"{}\",\"kind\":\"ExecCredential\",\"status\":{}}}'",
                       kV1, status));
  }
  std::size_t runs() const {
    const auto text = read_file(folder_ + "/runs", 1 << 20);
    return text ? static_cast<std::size_t>(std::ranges::count(*text, '\n')) : 0;
  }
  ExecCredentials credentials() {
    return ExecCredentials({.origin = {"/f", "users[0].user.exec"},
                            .command = folder_ + "/plugin",
                            .env = {{"REGION", "eu"}},
                            .api_version = std::string(kV1),
                            .install_hint = "apt install plugin"},
                           {.server = "https://h"}, TlsReader::open({}).value());
  }

  std::string folder_;
  ThreadTasks tasks_;
  Context context_{.tasks = tasks_};
};

TEST_F(ExecCredentialsTest, RunsOnceAndAgainAfterA401) {
  plugin_prints(R"({"token":"one"})");
  ExecCredentials c = credentials();
  const Identity first = c.identity(context_).value();
  EXPECT_EQ(first.bearer_token.reveal(), "one");
  (void)c.identity(context_).value();
  EXPECT_EQ(runs(), 1u);

  plugin_prints(R"({"token":"two"})");
  c.rejected(first);
  EXPECT_EQ(c.identity(context_).value().bearer_token.reveal(), "two");
  c.rejected(first);  // late: it says nothing about the new token
  (void)c.identity(context_).value();
  EXPECT_EQ(runs(), 2u);
}

TEST_F(ExecCredentialsTest, RunsAgainWhenTheTimeIsOver) {
  plugin_prints(R"({"token":"t","expirationTimestamp":"2020-01-01T00:00:00Z"})");
  ExecCredentials c = credentials();
  (void)c.identity(context_).value();
  (void)c.identity(context_).value();
  EXPECT_EQ(runs(), 2u);
  plugin_prints(R"({"token":"t","expirationTimestamp":"2120-01-01T00:00:00Z"})");
  (void)c.identity(context_).value();
  (void)c.identity(context_).value();
  EXPECT_EQ(runs(), 3u);
}

TEST_F(ExecCredentialsTest, ThePluginSeesItsEnvironment) {
  plugin(R"(
case "$KUBERNETES_EXEC_INFO" in *'"interactive":false'*) ;; *) exit 9;; esac
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$REGION")");
  ExecCredentials c = credentials();
  const auto who = c.identity(context_);
  ASSERT_TRUE(who) << who.error().to_string();
  EXPECT_EQ(who->bearer_token.reveal(), "eu");
}

TEST_F(ExecCredentialsTest, FailuresSayWhatToDoAndShowNoOutput) {
  plugin("echo sesame; echo 'please log in' >&2; exit 3");
  ExecCredentials c = credentials();
  const auto who = c.identity(context_);
  ASSERT_FALSE(who);
  EXPECT_EQ(who.error().code, Code::unauthorized);
  EXPECT_THAT(
      who.error().to_string(),
      HasSubstr("/f: users[0].user.exec: the credential plugin " + folder_ +
                "/plugin failed with exit code 3: please log in (hint: apt install plugin)"));
  EXPECT_THAT(who.error().to_string(), Not(HasSubstr("sesame")));

  std::filesystem::remove(folder_ + "/plugin");
  EXPECT_THAT(c.identity(context_).error().to_string(), HasSubstr("No such file or directory"));
  EXPECT_EQ(c.identity(context_).error().code, Code::unauthorized);
}

TEST_F(ExecCredentialsTest, ADeadlineEndsThePlugin) {
  plugin("sleep 600");
  ExecCredentials c = credentials();
  EXPECT_EQ(c.identity(context_.within(200ms)).error().code, Code::timeout);
}

TEST_F(ExecCredentialsTest, CallersShareOneRun) {
  // The plugin waits until the test lets it go on, so that all callers are there.
  plugin(fmt::format(R"(while [ ! -e {}/go ]; do sleep 0.01; done
echo '{{"apiVersion":"{}","kind":"ExecCredential","status":{{"token":"t"}}}}')",
                     folder_, kV1));
  ExecCredentials c = credentials();
  std::atomic<int> asking = 0;
  std::atomic<int> good = 0;
  std::vector<std::unique_ptr<Task>> callers;
  for (int i = 0; i < 8; ++i)
    callers.push_back(tasks_.spawn("caller", [&](std::stop_token) {
      ++asking;
      if (c.identity(context_.within(60s))) ++good;
    }));
  while (asking < 8) (void)sleep_for(tasks_, 1ms, {});
  ASSERT_TRUE(write_file(folder_ + "/go", "", 0600));
  for (const auto& caller : callers) caller->join();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(runs(), 1u);
}

}  // namespace
}  // namespace berth::kube
