// What of an answer is compared: everything that must not differ between two servers. Pure.
#pragma once

#include <map>
#include <string>

#include "wire/value.h"

namespace berth::parity {

using Variables = std::map<std::string, std::string>;

// "$name" becomes the variable's value.
std::string expand(std::string text, const Variables& variables);
// The other way round: what a variable stands for differs between servers.
std::string collapse(std::string text, const Variables& variables);

// The body with sorted members, and with a mark for what differs between servers or runs. The step
// may say `only` (JSON pointers of what is compared) and `without` (names of members left out).
wire::Value selected(const wire::Value& body, const wire::Value& step);

}  // namespace berth::parity
