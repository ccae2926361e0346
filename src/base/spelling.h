// What somebody meant who misspelt a word. Pure.
#pragma once

#include <span>
#include <string_view>

namespace berth {

// The known word that is nearest, itself if it is one of them; empty when all are too far away to
// be taken for it.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known);

}  // namespace berth
