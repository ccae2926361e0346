// What is asked of a provider's listeners, by the names that metrics have.
#pragma once

#include <cstdint>
#include <string_view>

namespace berth::lb {

enum class Action : std::uint8_t {
  list_listeners,
  look_up_listeners,
  create_listeners,
  remove_listeners,
  change_listeners,
  create_rules,
  remove_rules,
  change_rules,
  change_targets
};
std::string_view to_string(Action action);

}  // namespace berth::lb
