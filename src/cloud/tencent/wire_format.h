// The envelope of the cloud's API: requests with headers and signature, answers or refusals out of
// bodies. Pure.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "cloud/tencent/errors.h"
#include "cloud/tencent/options.h"
#include "crypto/signers.h"
#include "net/http.h"
#include "wire/value.h"

namespace berth::cloud::tencent {

net::Request signed_request(const Options& options, const crypto::CloudCredentials& credentials,
                            std::string_view region, std::string_view action, std::string body,
                            WallTime at);

struct Envelope {
  wire::Value response{};
  std::string request_id{};
};

// A gateway's answer that is none of the API's has the code InternalError.Gateway, or
// RequestLimitExceeded.
std::expected<Envelope, CloudError> open_envelope(const net::Response& response);

enum class TaskState : std::uint8_t { done, failed, under_way };

struct TaskStatus {
  TaskState state = TaskState::under_way;
  std::string message{};
};
TaskStatus decode_task(const wire::Value& response);

}  // namespace berth::cloud::tencent
