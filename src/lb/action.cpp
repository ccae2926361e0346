#include "lb/action.h"

#include <array>

namespace berth::lb {
namespace {

constexpr std::array<std::string_view, 9> kActions{
    "list_listeners",   "look_up_listeners", "create_listeners",
    "remove_listeners", "change_listeners",  "create_rules",
    "remove_rules",     "change_rules",      "change_targets"};

}  // namespace

std::string_view to_string(Action action) { return kActions[static_cast<std::size_t>(action)]; }

}  // namespace berth::lb
