// A listener of the simulated cloud as the edge carries it, and where on loopback it is. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/listener.h"
#include "sim/cloud/tencent/state.h"

namespace berth::sim::traffic {

// An address of loopback stays what it is. Any other has one there that is always the same.
std::string loopback_of(std::string_view vip);

// With its targets. `unsupported`: nothing of it can be carried yet.
Result<model::ListenerSpec> carried_as(const tencent::Listener& listener);

// What makes it another listener: the rest follows the cloud while it is open.
bool is_same_listener(const model::ListenerSpec& a, const model::ListenerSpec& b);

}  // namespace berth::sim::traffic
