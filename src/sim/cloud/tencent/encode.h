// State as the API shows it. Pure.
#pragma once

#include <string>

#include "sim/cloud/tencent/state.h"
#include "wire/value.h"

namespace berth::sim::tencent {

// "2026-01-02 11:04:05": the cloud's clock is eight hours ahead of UTC.
std::string local_time(WallTime at);

wire::Object encode_load_balancer(const LoadBalancer& lb);
wire::Object encode_listener(const Listener& listener);
// As DescribeTargets has it.
wire::Object encode_backend(const Target& target);
// Certificate of a listener or rule; null when it has none.
wire::Value encode_certificate(const wire::Object& certificate);

template <class Range>
wire::Array texts_to_json(const Range& texts) {
  wire::Array out;
  for (const auto& text : texts) out.emplace_back(std::string_view(text));
  return out;
}

}  // namespace berth::sim::tencent
