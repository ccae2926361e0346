// Paths that are regular expressions, as Tencent's load balancers have them: "~ ^/rooms/[0-9]+$",
// or "~*" where upper and lower case are the same. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::api {

// It begins with a tilde.
bool is_path_pattern(std::string_view path);
// What is wrong with it: an expression that cannot be read would be refused by the load balancer
// alone, and with it the rule. Nothing: it is well formed, as far as brackets, repetitions and
// escapes go.
std::optional<std::string> find_fault(std::string_view pattern);

}  // namespace berth::api
