// Identifiers as types: two ids that are both strings do not mix.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <utility>

namespace berth {

template <class Tag>
struct StrongId {
  std::string value;

  StrongId() = default;
  explicit StrongId(std::string v) : value(std::move(v)) {}
  bool empty() const { return value.empty(); }
  friend auto operator<=>(const StrongId&, const StrongId&) = default;
};

}  // namespace berth

template <class Tag>
struct std::hash<berth::StrongId<Tag>> {
  std::size_t operator()(const berth::StrongId<Tag>& id) const noexcept {
    return std::hash<std::string>{}(id.value);
  }
};
