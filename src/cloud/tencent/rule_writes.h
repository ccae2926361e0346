// One call's creations, removals and changes of rules. One outcome per entry, as lb/listeners.h
// wants it. The rule without a key is a part of its listener, at the cloud too.
#pragma once

#include <span>
#include <vector>

#include "cloud/tencent/line.h"

namespace berth::cloud::tencent {

std::vector<Result<>> create_rules(const Line& line, std::span<const lb::NewRule> wanted);
std::vector<Result<>> remove_rules(const Line& line, std::span<const lb::RuleRef> rules);
std::vector<Result<>> change_rules(const Line& line, std::span<const lb::RuleChange> changes);

}  // namespace berth::cloud::tencent
