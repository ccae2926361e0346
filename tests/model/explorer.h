// Every state that a house can come to, breadth first: the way to a fault is the shortest there is.
//
// From each state the product's own steps, in one fair order, must also come to rest, and find
// everything as it should be. As that is so of every state, no order of steps can lead to where the
// product does not find out of. Time and memory grow with the number of states: about 80 bytes and
// 10 microseconds each.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "house.h"

namespace berth::house {

struct Exploration {
  std::size_t states = 0;
  std::size_t steps = 0;
  bool complete = false;  // all states were met, or a fault was
  std::string fault{};
  std::vector<std::string> way{};  // the steps that lead to it
  std::string last{};              // the state they lead to

  std::string to_string() const;
};

// Gives up after so many states.
Exploration explore(House& house, std::size_t max_states);

}  // namespace berth::house
