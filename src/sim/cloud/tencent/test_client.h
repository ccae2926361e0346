// A signing client on the simulated cloud, with a clock of its own, for tests beside the code.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

#include "crypto/signers.h"
#include "sim/cloud/tencent/cloud.h"

namespace berth::sim::tencent {

inline constexpr const char* kUin = "100000000001";
inline constexpr const char* kLb = "lb-room0001";
inline constexpr const char* kRegion = "ap-guangzhou";

class TestClient {
 public:
  explicit TestClient(Settings settings = {}) : cloud(std::move(settings)) {
    cloud.add_account({.uin = kUin});
    cloud.add_key({.secret_id = id, .secret_key = Secret(key), .account = kUin});
    cloud.add_load_balancer({.id = kLb,
                             .account = kUin,
                             .region = kRegion,
                             .name = "rooms",
                             .vpc_id = "vpc-12345678",
                             .vips = {"203.0.113.7"}},
                            now);
  }

  net::Request signed_request(const std::string& action, const std::string& body) const {
    const crypto::RequestParts parts{
        .host = host, .headers = {{"Content-Type", "application/json"}}, .body = body};
    net::Request out{.method = "POST",
                     .url = "/",
                     .headers = {{"Content-Type", "application/json"},
                                 {"Host", host},
                                 {"X-TC-Action", action},
                                 {"X-TC-Version", version}},
                     .body = body};
    if (!region.empty()) out.headers.add("X-TC-Region", region);
    const auto signature = crypto::sign_tencent(
        parts, {.id = id, .key = Secret(key), .token = Secret(token)}, service, now + skew);
    for (const auto& [name, value] : signature.headers) out.headers.add(name, value);
    return out;
  }

  // The answer's Response; null when it is lost or no answer of the API.
  wire::Value call(const std::string& action, const wire::Object& body = {}) {
    const net::Reply reply =
        cloud.handle(signed_request(action, wire::to_json(wire::Value(body))), now);
    last_status = reply.status;
    if (reply.status != 200) return nullptr;
    auto parsed = wire::parse_json(reply.body);
    if (!parsed) return nullptr;
    return parsed->at("Response");
  }
  // Of a call that must be refused.
  std::string refused(const std::string& action, const wire::Object& body = {}) {
    const wire::Value answer = call(action, body);
    return std::string(wire::string_at(answer, "/Error/Code"));
  }
  std::string message(const std::string& action, const wire::Object& body = {}) {
    const wire::Value answer = call(action, body);
    return std::string(wire::string_at(answer, "/Error/Message"));
  }
  // Of a write that must succeed: waits until its task is over.
  wire::Value done(const std::string& action, const wire::Object& body) {
    wire::Value answer = call(action, body);
    EXPECT_EQ(wire::find(answer, "/Error"), nullptr) << action << wire::to_json(answer);
    const std::string task(wire::string_at(answer, "/RequestId"));
    for (int i = 0; i < 1000 && status(task) == 2; ++i) now += std::chrono::milliseconds{100};
    EXPECT_EQ(status(task), 0) << action;
    return answer;
  }
  std::int64_t status(const std::string& task) {
    now += std::chrono::milliseconds{60};  // below the rate limit
    return wire::int_at(call("DescribeTaskStatus", {{"TaskId", task}}), "/Status").value_or(-1);
  }
  // Ids of new TCP listeners.
  std::vector<std::string> listeners(wire::Array ports, wire::Object more = {}) {
    wire::Object body{{"LoadBalancerId", kLb}, {"Ports", std::move(ports)}, {"Protocol", "TCP"}};
    for (const auto& [name, value] : more) body[name] = value;
    std::vector<std::string> out;
    const wire::Value answer = done("CreateListener", body);
    for (const wire::Value& one : *wire::array_at(answer, "/ListenerIds"))
      out.emplace_back(one.get_string());
    return out;
  }

  WallTime now{std::chrono::seconds{1'780'000'000}};
  Duration skew{};
  std::string id = "AKIDEXAMPLE";
  std::string key = "Gu5t9xGARNpq86cd98joQYCN3EXAMPLE";
  std::string token{};
  std::string host = "clb.tencentcloudapi.com";
  std::string service = "clb";
  std::string version = "2018-03-17";
  std::string region = kRegion;
  int last_status = 0;
  Cloud cloud;
};

}  // namespace berth::sim::tencent
