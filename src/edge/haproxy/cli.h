// One question to a socket of HAProxy, and its whole answer. Blocks, within the time given; any
// thread may call.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace berth::edge::haproxy {

// `unavailable`: nobody listens there; `timeout`: no end of the answer in time.
Result<std::string> ask(const std::string& socket, std::string_view command, Duration within);
// Many, in as few questions as HAProxy's buffer takes. The answers, one after the other. `between`
// is called before each question: HAProxy writes a line to its output for many a command, and waits
// when nobody reads it.
Result<std::string> ask_all(const std::string& socket, const std::vector<std::string>& commands,
                            Duration within, const std::function<void()>& between);

}  // namespace berth::edge::haproxy
