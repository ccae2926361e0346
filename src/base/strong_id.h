// Identifiers as types: two ids that are both strings do not mix.
#pragma once

#include <compare>
#include <functional>
#include <ostream>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace berth {

template <class Tag>
struct StrongId {
  std::string value;

  StrongId() = default;
  explicit StrongId(std::string v) : value(std::move(v)) {}
  bool empty() const { return value.empty(); }
  friend auto operator<=>(const StrongId&, const StrongId&) = default;
  friend std::ostream& operator<<(std::ostream& out, const StrongId& id) { return out << id.value; }
};

}  // namespace berth

template <class Tag>
struct std::hash<berth::StrongId<Tag>> {
  std::size_t operator()(const berth::StrongId<Tag>& id) const noexcept {
    return std::hash<std::string>{}(id.value);
  }
};

template <class Tag>
struct fmt::formatter<berth::StrongId<Tag>> : fmt::formatter<std::string_view> {
  auto format(const berth::StrongId<Tag>& id, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format(id.value, context);
  }
};
