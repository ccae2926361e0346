// What the API server says when it refuses: `kind: Status` bodies and plain HTTP statuses as
// errors. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/http.h"
#include "wire/value.h"

namespace berth::kube {

// Longer texts of a server are cut: an error is one line for a person.
inline constexpr std::size_t kMaxStatusMessage = 2048;
// Of a body that is no Status (a proxy's error page).
inline constexpr std::size_t kMaxForeignBody = 200;

// The error that a Status object stands for; also for ERROR events of a watch.
Error error_from_status(const wire::Value& status);

// The protobuf form of metav1.Status (without its envelope) as the JSON that it also has: one place
// then knows what reasons and codes mean. Nothing when it is malformed.
std::optional<wire::Value> status_from_protobuf(std::string_view message);

// The error of an answer whose HTTP status is not a success, whatever its body is:
// JSON, protobuf (a server answers in what was accepted) or something else.
Error error_from_response(int http_status, const net::Headers& headers, std::string_view body);

// 'pods "room-0"', 'deployments.apps "web"': how the server names an object, and so do we.
std::string object_label(std::string_view resource, std::string_view group, std::string_view name);

// At most `max_bytes` of the text on one line, without control characters.
std::string printable(std::string_view text, std::size_t max_bytes);

}  // namespace berth::kube
