// pods/log and pods/exec: what a client asks of a running Pod, and how it gets the answer. Private
// to this folder; called from any handler, without a lock held.
#pragma once

#include "net/server.h"
#include "sim/kube/pod_runtime.h"
#include "sim/kube/request_info.h"

namespace berth::sim::kube {

// What a command may write; the rest is cut off.
inline constexpr std::size_t kMaxExecOutput = 1u << 20;

// Without a runtime every log is empty.
Outcome<net::Reply> read_log(const RequestInfo& info, const wire::Value& pod, PodRuntime* runtime);

// Over a WebSocket, as kubectl asks for it: messages that begin with the number of their channel.
Outcome<net::Reply> run_command(const RequestInfo& info, const net::Request& http,
                                const wire::Value& pod, PodRuntime* runtime);

}  // namespace berth::sim::kube
