// One call's changes of targets: what is new is registered, what is there gets its weight, and only
// then what shall go is deregistered, so that a rule whose targets are all replaced is never
// without. A failure concerns its listener alone.
#pragma once

#include <span>
#include <vector>

#include "cloud/tencent/line.h"
#include "cloud/tencent/requests.h"

namespace berth::cloud::tencent {

std::vector<Result<>> change_targets(const Line& line, std::span<const lb::TargetChange> changes);

}  // namespace berth::cloud::tencent
