// Calls to a driver: bounded in time, counted, and told to the provider's budget. Thread-safe.
//
// As many results come back as entries went in, whatever the driver does.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/context.h"
#include "engine/office.h"
#include "lb/driver.h"

namespace berth::engine {

// Where a call goes.
struct Line {
  lb::Driver& driver;
  const model::LoadBalancerRef& lb;
  Office& office;
};

Result<std::vector<lb::ObservedListener>> list_listeners(const Context& context, const Line& line);
std::vector<Result<std::string>> create_listeners(const Context& context, const Line& line,
                                                  std::span<const model::ListenerSpec> wanted);
std::vector<Result<>> remove_listeners(const Context& context, const Line& line,
                                       std::span<const std::string> ids);
std::vector<Result<>> change_targets(const Context& context, const Line& line,
                                     std::span<const lb::TargetChange> changes);
std::vector<Result<>> change_attributes(const Context& context, const Line& line,
                                        std::span<const lb::AttributeChange> changes);

}  // namespace berth::engine
