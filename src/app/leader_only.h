// Requests that only the leader may answer, on every replica: the leader answers, another one hands
// the request on or says when to come again. No module has such a server yet; allocators of
// addresses will. Any thread.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "net/server.h"

namespace berth::app {

// Sends a request to the leader, once. Its failure means that no answer came; the message says
// whether something may have been done, and is for whoever asked.
using Forward = std::function<Result<net::Reply>(const net::Request& request, const net::Peer& peer,
                                                 std::stop_token stop)>;

// Without `forward`, or when it fails: 503 with Retry-After.
net::Handler leader_only(net::Handler handler, std::function<bool()> leads, Forward forward = {});

// That reply.
net::Reply come_again(std::string_view why);

}  // namespace berth::app
