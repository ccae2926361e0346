// One call's creations, removals and changes of listeners, in as few calls of the API as it takes.
// One outcome per entry, as lb/listeners.h wants it.
#pragma once

#include <span>
#include <vector>

#include "cloud/tencent/line.h"

namespace berth::cloud::tencent {

std::vector<Result<model::ListenerId>> create_listeners(
    const Line& line, std::span<const model::ListenerSpec> wanted);
std::vector<Result<>> remove_listeners(const Line& line, std::span<const model::ListenerId> ids);
std::vector<Result<>> change_listeners(const Line& line,
                                       std::span<const lb::ListenerChange> changes);

// Certificates by server name cannot be switched off again.
bool can_change_listener(const model::ListenerAttributes& there,
                         const model::ListenerAttributes& wished);

}  // namespace berth::cloud::tencent
