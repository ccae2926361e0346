// Requests that only the leader may answer, on every replica: the leader answers, another one hands
// the request on or says when to come again. Any thread.
#pragma once

#include <functional>

#include "base/result.h"
#include "net/server.h"

namespace berth::app {

// On a request that was handed on: whoever gets it and does not lead hands it to nobody.
inline constexpr std::string_view kForwardedHeader = "Berth-Forwarded";

// Sends a request to the leader. Its failure means that the leader gave no answer.
using Forward = std::function<Result<net::Reply>(const net::Request& request)>;

// Without `forward`, or when nobody answers: 503 with Retry-After, and nothing was done.
net::Handler leader_only(net::Handler handler, std::function<bool()> leads, Forward forward = {});

}  // namespace berth::app
