#include "sim/kube/json_path.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "base/text.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Value;

std::optional<std::string> unquoted(std::string_view text) {
  if (text.size() < 2 || text.front() != text.back()) return std::nullopt;
  if (text.front() != '\'' && text.front() != '"') return std::nullopt;
  return std::string(text.substr(1, text.size() - 2));
}

// A name up to the next step; `\.` is a dot within it.
std::string take_name(std::string_view& text) {
  std::string name;
  while (!text.empty() && text.front() != '.' && text.front() != '[') {
    if (text.size() > 1 && text.front() == '\\') text.remove_prefix(1);
    name += text.front();
    text.remove_prefix(1);
  }
  return name;
}

}  // namespace

std::optional<JsonPath::Step> JsonPath::bracket(std::string_view inside) {
  if (inside == "*") return Step{.kind = Step::Kind::any};
  if (auto name = unquoted(inside)) {
    std::erase(*name, '\\');
    return Step{.name = std::move(*name)};
  }
  if (inside.starts_with("?(") && inside.ends_with(')')) {
    inside = trimmed(inside.substr(2, inside.size() - 3));
    const std::size_t equals = inside.find("==");
    if (!inside.starts_with("@.") || equals == std::string_view::npos) return std::nullopt;
    auto value = unquoted(trimmed(inside.substr(equals + 2)));
    if (!value) return std::nullopt;
    std::string pointer(trimmed(inside.substr(1, equals - 1)));
    std::ranges::replace(pointer, '.', '/');
    return Step{.kind = Step::Kind::where, .name = std::move(pointer), .value = std::move(*value)};
  }
  Step step{.kind = Step::Kind::index};
  const char* end = inside.data() + inside.size();
  const auto [rest, error] = std::from_chars(inside.data(), end, step.index);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return step;
}

std::optional<JsonPath> JsonPath::parse(std::string_view text) {
  JsonPath path;
  while (!text.empty()) {
    if (text.front() == '.') {
      text.remove_prefix(1);
      if (text.starts_with('[')) continue;
      std::string name = take_name(text);
      if (name.empty()) return std::nullopt;
      path.steps_.push_back({.name = std::move(name)});
      continue;
    }
    // A filter may hold brackets in its text, so its end is the one behind the parenthesis.
    const std::size_t end = text.find(text.starts_with("[?(") ? ")]" : "]");
    if (text.front() != '[' || end == std::string_view::npos) return std::nullopt;
    const std::size_t close = text.find(']', end);
    std::optional<Step> step = bracket(text.substr(1, close - 1));
    if (!step) return std::nullopt;
    path.steps_.push_back(std::move(*step));
    text.remove_prefix(close + 1);
  }
  return path;
}

const Value* JsonPath::first(const Value& root) const { return first(root, 0); }

const Value* JsonPath::first(const Value& value, std::size_t at) const {
  if (at == steps_.size()) return &value;
  const Step& step = steps_[at];
  if (step.kind == Step::Kind::field) {
    const Value* inner = value.is_object() ? value.get_object().if_contains(step.name) : nullptr;
    return inner == nullptr ? nullptr : first(*inner, at + 1);
  }
  if (!value.is_array()) return nullptr;
  const Array& items = value.get_array();
  if (step.kind == Step::Kind::index) {
    const std::int64_t size = static_cast<std::int64_t>(items.size());
    const std::int64_t index = step.index < 0 ? step.index + size : step.index;
    if (index < 0 || index >= size) return nullptr;
    return first(items[static_cast<std::size_t>(index)], at + 1);
  }
  for (const Value& item : items) {
    if (step.kind == Step::Kind::where && wire::string_at(item, step.name) != step.value) continue;
    if (const Value* found = first(item, at + 1)) return found;
  }
  return nullptr;
}

}  // namespace berth::sim::kube
