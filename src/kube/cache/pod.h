// Pod, as far as somebody reads it. The largest cache of all: lists that Pods of one template have
// in common are shared, and 50,000 of them fit in 40 MB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/cache/object_meta.h"
#include "kube/cache/projection.h"

namespace berth::kube {

enum class ConditionStatus : std::uint8_t { unknown, no, yes };

struct Condition {
  Interned type{};
  ConditionStatus status = ConditionStatus::unknown;

  friend bool operator==(const Condition&, const Condition&) = default;
};
std::size_t hash_value(const Condition& condition);
// Of the text that the API has: "True", "False", anything else is unknown.
ConditionStatus condition_status(std::string_view text);

struct ContainerPort {
  Interned container{};
  Interned name{};  // empty: it has none
  Interned protocol{"TCP"};
  std::uint16_t port = 0;
  std::uint16_t host_port = 0;  // 0: none
  bool init = false;            // of an init container

  friend bool operator==(const ContainerPort&, const ContainerPort&) = default;
};
std::size_t hash_value(const ContainerPort& port);

enum class PodPhase : std::uint8_t { unknown, pending, running, succeeded, failed };

struct Pod {
  ObjectMeta meta{};
  Interned node{};  // empty: not scheduled
  Interned host_ip{};
  std::vector<std::string> ips{};  // one per address family, the first is the Pod's own family
  PodPhase phase = PodPhase::unknown;
  SharedList<ContainerPort> ports{};  // init containers first
  SharedList<Interned> readiness_gates{};
  SharedList<Condition> conditions{};

  ConditionStatus condition(std::string_view type) const;
  bool ready() const { return condition("Ready") == ConditionStatus::yes; }
  // Succeeded or failed: it will never run again.
  bool finished() const { return phase == PodPhase::succeeded || phase == PodPhase::failed; }

  friend bool operator==(const Pod&, const Pod&) = default;
};

Projection<Pod> pod_projection(MetaRules rules = {}, Selection selection = {});

}  // namespace berth::kube
