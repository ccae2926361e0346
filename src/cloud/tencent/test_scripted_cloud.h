// For tests: a Transport that answers as a test says, action by action, and remembers what it was
// asked; and a driver's surroundings on it. One thread, virtual time.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloud/tencent/driver.h"
#include "cloud/tencent/wire_format.h"
#include "sim/kernel/kernel.h"

namespace berth::cloud::tencent::testing {

class ScriptedCloud final : public net::Transport {
 public:
  struct Call {
    std::string action{};
    wire::Value body{};
    net::Request request{};
    Instant at{};
  };

  // Answers come in the order in which they were given. Tasks are done unless it is said otherwise;
  // what else is asked for without an answer is a failure.
  void answer(const std::string& action, std::string_view response = "{}") {
    script_[action].push_back({.body = std::string(response)});
  }
  void refuse(const std::string& action, std::string_view code, std::string_view message) {
    script_[action].push_back(
        {.body = fmt::format(R"({{"Error":{{"Code":"{}","Message":"{}"}}}})", code, message)});
  }
  void lose(const std::string& action, Code code) { script_[action].push_back({.lost = code}); }
  // Happens once, while the next call is under way.
  void meanwhile(std::function<void()> happens) { meanwhile_ = std::move(happens); }
  void set_date(std::string date) { date_ = std::move(date); }

  Result<net::Response> call(const Context& context, const net::Request& request) override {
    const std::string action(request.headers.get("X-TC-Action"));
    const Result<wire::Value> body = wire::parse_json(request.body);
    EXPECT_TRUE(body) << request.body;
    calls.push_back({action, body ? *body : wire::Value{}, request, context.tasks.now()});
    std::deque<Answer>& answers = script_[action];
    if (answers.empty()) {
      EXPECT_EQ(action, "DescribeTaskStatus") << "not expected: " << request.body;
      return respond(action == "DescribeTaskStatus" ? R"({"Status":0})" : "{}");
    }
    const Answer next = std::move(answers.front());
    answers.pop_front();
    if (const auto happens = std::exchange(meanwhile_, {})) happens();
    if (next.lost) return fail(*next.lost, "the connection broke");
    return respond(next.body);
  }
  Result<std::unique_ptr<net::Stream>> open(const Context&, const net::Request&) override {
    return fail(Code::unsupported, "no streams here");
  }

  std::vector<std::string> actions() const {
    std::vector<std::string> out;
    for (const Call& call : calls) out.push_back(call.action);
    return out;
  }
  // The bodies of all calls of this action.
  std::vector<wire::Value> bodies(std::string_view action) const {
    std::vector<wire::Value> out;
    for (const Call& call : calls)
      if (call.action == action) out.push_back(call.body);
    return out;
  }

  std::vector<Call> calls;

 private:
  struct Answer {
    std::string body{};
    std::optional<Code> lost{};
  };

  // "{...}" with a request id in it, unless it says one.
  net::Response respond(std::string body) {
    const std::string id = fmt::format(R"("RequestId":"request-{}")", ++count_);
    if (body.find("\"RequestId\"") == std::string::npos)
      body.insert(1, body.size() > 2 ? id + "," : id);
    net::Response out{.status = 200, .body = fmt::format(R"({{"Response":{}}})", body)};
    if (!date_.empty()) out.headers.set("Date", date_);
    return out;
  }

  std::map<std::string, std::deque<Answer>> script_;
  std::function<void()> meanwhile_;
  std::string date_;
  int count_ = 0;
};

inline crypto::CloudCredentials example_credentials() {
  return {.id = "AKIDEXAMPLE", .key = Secret("Gu5t9xGARNpq86cd98joQYCN3EXAMPLE")};
}

class DriverTest : public ::testing::Test {
 protected:
  Context context() { return {.tasks = process_}; }
  lb::Listeners& listeners() { return *driver_.seams().listeners; }
  lb::Directory& directory() { return *driver_.seams().directory; }
  static model::ListenerSpec tcp(model::Port port) {
    return model::plain_listener(model::Protocol::tcp, {port, port}, fmt::format("b-{}", port));
  }
  static model::WeightedTarget target(int n, std::uint32_t weight = model::kDefaultWeight) {
    return {{fmt::format("10.0.0.{}", n), 9000}, weight};
  }

  const lb::Place place_{{model::Provider::tencent, "ap-nanjing", "lb-1"}};
  sim::Kernel kernel_{1};
  sim::Process& process_ = kernel_.start_process("test");
  ScriptedCloud cloud_;
  GivenCredentials credentials_{example_credentials()};
  ClbDriver driver_{process_, cloud_, credentials_, {.region = "ap-guangzhou"}};
};

}  // namespace berth::cloud::tencent::testing
