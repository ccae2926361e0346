// A condition in a status, as every Kubernetes object has them.
#pragma once

#include <string>

#include "api/kind_table.h"

namespace berth::api {

struct Condition {
  std::string type{};
  std::string status{};  // "True", "False" or "Unknown"
  std::string reason{};
  std::string message{};
  std::string last_transition_time{};

  friend bool operator==(const Condition&, const Condition&) = default;
};

template <>
std::span<const Field> fields_of<Condition>();

}  // namespace berth::api
