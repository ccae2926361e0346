// Calls to a driver: bounded in time and counted. Thread-safe.
//
// As many results come back as entries went in, whatever the driver does.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/context.h"
#include "engine/shared_state.h"
#include "lb/listeners.h"

namespace berth::engine {

using lb::Action;

// Where a call goes.
struct Line {
  lb::Listeners& driver;
  const lb::Place& place;
  SharedState& shared;
};

Result<std::vector<lb::ObservedListener>> list_listeners(const Context& context, const Line& line);
Result<std::vector<lb::ObservedListener>> look_up_listeners(
    const Context& context, const Line& line, std::span<const lb::Question> questions);
std::vector<Result<model::ListenerId>> create_listeners(
    const Context& context, const Line& line, std::span<const model::ListenerSpec> wanted);
std::vector<Result<>> remove_listeners(const Context& context, const Line& line,
                                       std::span<const model::ListenerId> ids);
std::vector<Result<>> change_listeners(const Context& context, const Line& line,
                                       std::span<const lb::ListenerChange> changes);
std::vector<Result<>> create_rules(const Context& context, const Line& line,
                                   std::span<const lb::NewRule> wanted);
std::vector<Result<>> remove_rules(const Context& context, const Line& line,
                                   std::span<const lb::RuleRef> rules);
std::vector<Result<>> change_rules(const Context& context, const Line& line,
                                   std::span<const lb::RuleChange> changes);
std::vector<Result<>> change_targets(const Context& context, const Line& line,
                                     std::span<const lb::TargetChange> changes);

}  // namespace berth::engine
