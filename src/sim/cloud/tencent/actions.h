// The table of actions: service and version, what each takes, and who serves it.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "sim/cloud/tencent/operations.h"
#include "sim/cloud/tencent/parameters.h"

namespace berth::sim::tencent {

struct Action {
  Fields fields{};
  Answered (*run)(Call&) = nullptr;
  bool regional = true;  // X-TC-Region is needed
};

struct Service {
  std::string version{};
  std::map<std::string, Action> actions{};  // by name
};

// By the service's name: "clb", "vpc", ... Sizes of calls are the limits'.
std::map<std::string, Service> make_services(const Limits& limits);

}  // namespace berth::sim::tencent
