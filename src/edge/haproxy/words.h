// Users' texts as words of a configuration: whatever they are, a word stays one word. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::edge::haproxy {

// Longer ones belong to nobody: DNS ends here, and request lines of browsers there.
inline constexpr std::size_t kMaxDomain = 253;
inline constexpr std::size_t kMaxPath = 2048;

// All but letters, digits and a few harmless signs is written as \xNN, which ends no word, opens no
// quote, names no variable and begins no comment.
std::string word(std::string_view text);

// `invalid`: it can be no domain of a rule. "*.example.com", "www.example.*" and "" are some.
Result<> check_domain(std::string_view domain);
// `invalid`: it can be no beginning of a path. Of a check's path and method, too.
Result<> check_path(std::string_view path);
Result<> check_method(std::string_view method);

}  // namespace berth::edge::haproxy
