// Bodies that Go clients send as protobuf: kubectl's generators ("create configmap"), its questions
// ("auth can-i") and typed clients. Answers are JSON, which all of them take. Pure.
#pragma once

#include <string_view>

#include "sim/kube/api_error.h"
#include "wire/value.h"

namespace berth::sim::kube {

inline constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

// The object as JSON has it, with apiVersion and kind. A field that `field_table.h` does not have
// is refused: to drop it would change what the client means.
Outcome<wire::Value> decode_protobuf(std::string_view body);

}  // namespace berth::sim::kube
