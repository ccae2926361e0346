#include "kube/runtime/fenced_transport.h"

#include <gtest/gtest.h>

#include "base/threads.h"

namespace berth::kube {
namespace {

class Recording final : public net::Transport {
 public:
  Result<net::Response> call(const Context&, const net::Request& request) override {
    sent.push_back(request.method);
    return net::Response{.status = 200};
  }
  Result<std::unique_ptr<net::Stream>> open(const Context&, const net::Request& request) override {
    sent.push_back(request.method);
    return fail(Code::unavailable, "there is no stream");
  }
  std::vector<std::string> sent;
};

class FencedTransportTest : public testing::Test {
 protected:
  Result<net::Response> send(const char* method) {
    return fenced_.call({.tasks = tasks_}, {.method = method, .url = "https://api/x"});
  }

  ThreadTasks tasks_;
  Recording network_;
  bool may_write_ = true;
  FencedTransport fenced_{network_, [this] { return may_write_; }};
};

TEST_F(FencedTransportTest, NothingIsWrittenPastTheFence) {
  may_write_ = false;
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE"}) {
    const auto answer = send(method);
    ASSERT_FALSE(answer) << method;
    EXPECT_EQ(answer.error().code, Code::unavailable)
        << "it is tried again, should the lead come back";
  }
  EXPECT_TRUE(network_.sent.empty());
}

TEST_F(FencedTransportTest, ReadingIsFreeAndSoIsTheLeader) {
  EXPECT_TRUE(send("PATCH"));
  may_write_ = false;
  EXPECT_TRUE(send("GET"));
  EXPECT_EQ(network_.sent, (std::vector<std::string>{"PATCH", "GET"}));
}

}  // namespace
}  // namespace berth::kube
