// The state to look at: as JSON, and as a page of HTML. Pure; no secrets.
#pragma once

#include "net/server.h"
#include "sim/cloud/tencent/state.h"
#include "sim/cloud/tencent/task_book.h"
#include "wire/value.h"

namespace berth::sim::tencent {

wire::Object dump_state(const State& state, const TaskBook& tasks);
net::Reply show_state(const wire::Value& dump, bool as_page);

// "Fri, 02 Jan 2026 03:04:05 GMT"
std::string http_date(WallTime at);

}  // namespace berth::sim::tencent
