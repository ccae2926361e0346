// What one line can say about a Pod: how many of its containers are ready, and what it is at. Pure.
#pragma once

#include <string>
#include <string_view>

#include "wire/value.h"

namespace berth::sim::kube {

struct PodSummary {
  std::size_t ready = 0;
  std::size_t containers = 0;
  std::string reason{};
  std::int64_t restarts = 0;
  std::string last_restart{};  // RFC 3339; empty when there was none
};
PodSummary summarize_pod(const wire::Value& pod);

// "1/2" gates open; "<none>" without gates.
std::string readiness_gates(const wire::Value& pod);

}  // namespace berth::sim::kube
