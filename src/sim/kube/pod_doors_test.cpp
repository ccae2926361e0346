// Logs of Pods and commands in them, through the server.
#include "sim/kube/pod_doors.h"

#include <gtest/gtest.h>

#include "sim/kube/test_client.h"

namespace berth::sim::kube {
namespace {

// Knows one file and one log.
class OneFile final : public PodRuntime {
 public:
  Result<ExecResult> exec(const wire::Value& pod, const std::string& container,
                          const std::vector<std::string>& command) override {
    EXPECT_EQ(wire::string_at(pod, "/metadata/name"), "p");
    EXPECT_EQ(container, "c");
    if (command == std::vector<std::string>{"cat", "/etc/podinfo/annotations"}) {
      return ExecResult{.output = "berth=\"here\"\n"};
    }
    if (command.front() == "flood") return ExecResult{.output = std::string(2 << 20, 'x')};
    return ExecResult{.errors = "cat: no such file\n", .exit_code = 1};
  }
  Result<std::string> log(const wire::Value&, const std::string&, bool previous) override {
    if (previous) return fail(Code::not_found, "previous terminated container \"c\" not found");
    return std::string("one\ntwo\nthree\n");
  }
};

struct PodDoors : ::testing::Test {
  PodDoors() {
    server.post(
        kPods,
        R"({"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})");
  }
  Got exec(std::string query) {
    return server.call("GET", path(kPods, "/p/exec?stdout=true&stderr=true&" + query), {},
                       "application/json",
                       {{"Connection", "Upgrade"},
                        {"Upgrade", "websocket"},
                        {"Sec-WebSocket-Version", "13"},
                        {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                        {"Sec-WebSocket-Protocol", "v5.channel.k8s.io"}});
  }

  OneFile runtime;
  TestServer server{{.pod_runtime = &runtime}};
};

TEST_F(PodDoors, ShowTheLog) {
  EXPECT_EQ(server.get(path(kPods, "/p/log")).text, "one\ntwo\nthree\n");
  EXPECT_EQ(server.get(path(kPods, "/p/log?container=c&tailLines=2")).text, "two\nthree\n");
  EXPECT_EQ(server.get(path(kPods, "/p/log?tailLines=0")).text, "");
  EXPECT_EQ(server.get(path(kPods, "/p/log?tailLines=9&limitBytes=5")).text, "one\nt");
  EXPECT_EQ(server.get(path(kPods, "/p/log?previous=true")).status, 400);
}

TEST_F(PodDoors, RunACommandAndTellItsEnd) {
  const Got found = exec("command=cat&command=%2Fetc%2Fpodinfo%2Fannotations");
  EXPECT_EQ(found.status, 101);
  EXPECT_NE(found.text.find("\x01"
                            "berth=\"here\"\n"),
            std::string::npos);
  EXPECT_NE(found.text.find("\x03"
                            R"({"metadata":{},"status":"Success"})"),
            std::string::npos);
  const Got missing = exec("command=cat&command=x");
  EXPECT_NE(missing.text.find("\x02"
                              "cat: no such file\n"),
            std::string::npos);
  EXPECT_NE(missing.text.find(R"("causes":[{"reason":"ExitCode","message":"1"}])"),
            std::string::npos);
}

TEST_F(PodDoors, CutOffWhatIsTooLong) {
  const std::string text = exec("command=flood").text;
  EXPECT_EQ(std::ranges::count(text, 'x'), static_cast<std::ptrdiff_t>(kMaxExecOutput));
}

TEST_F(PodDoors, NeedAWebSocket) {
  EXPECT_EQ(server.get(path(kPods, "/p/exec?command=cat")).status, 400);
  EXPECT_EQ(server.post(path(kPods, "/p/log"), "").status, 405);
}

TEST(PodDoorsWithoutARuntime, AreEmptyOrClosed) {
  TestServer server;
  server.post(
      kPods,
      R"({"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})");
  const Got log = server.get(path(kPods, "/p/log"));
  EXPECT_EQ(log.status, 200);
  EXPECT_EQ(log.text, "");
}

}  // namespace
}  // namespace berth::sim::kube
