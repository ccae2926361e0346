#include "api/walkers.h"

#include <algorithm>
#include <boost/json.hpp>

namespace berth::api {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::int64_t kNoMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kNoMax = std::numeric_limits<std::int64_t>::max();

template <class T>
const T& as(const void* p) {
  return *static_cast<const T*>(p);
}
using StringMapValue = std::map<std::string, std::string>;

const Field* find_field(std::span<const Field> fields, std::string_view name) {
  const auto it = std::ranges::find(fields, name, &Field::name);
  return it == fields.end() ? nullptr : &*it;
}

void decode_json(Json& out, wire::JsonNode json) {
  if (json.is_object()) {
    // In one spelling, so that equal objects are equal texts.
    const std::string_view raw = json.raw();
    const Result<Value> value = wire::parse_json(raw);
    out.text = value ? wire::to_json(*value) : std::string(raw);
  } else {
    json.fields([](std::string_view, wire::JsonNode) {});  // makes it the document's error
  }
}

void decode_node(const Node& node, void* out, wire::JsonNode json) {
  if (json.is_null()) return;
  switch (node.shape) {
    case Shape::string: *static_cast<std::string*>(out) = std::string(json.string()); return;
    case Shape::integer: *static_cast<std::int64_t*>(out) = json.integer(); return;
    case Shape::boolean: *static_cast<bool*>(out) = json.boolean(); return;
    case Shape::object:
      decode_fields(node.fields(), node.engage ? node.engage(out) : out, json);
      return;
    case Shape::list:
      json.items([&](wire::JsonNode item) { decode_node(*node.item(), node.append(out), item); });
      return;
    case Shape::string_map:
      json.fields([&](std::string_view key, wire::JsonNode value) {
        (*static_cast<StringMapValue*>(out))[std::string(key)] = std::string(value.string());
      });
      return;
    case Shape::json: decode_json(*static_cast<Json*>(out), json); return;
  }
}

// What an absent field looks like: such values are left out of the JSON, as Go's omitempty does.
bool is_empty(const Node& node, const void* in) {
  switch (node.shape) {
    case Shape::string: return as<std::string>(in).empty();
    case Shape::integer: return as<std::int64_t>(in) == 0;
    case Shape::boolean: return !as<bool>(in);
    case Shape::object: return node.present && !node.present(in);
    case Shape::list: return node.size(in) == 0;
    case Shape::string_map: return as<StringMapValue>(in).empty();
    case Shape::json: return !as<Json>(in).text;
  }
  return false;
}

Value encode_node(const Node& node, const void* in) {
  switch (node.shape) {
    case Shape::string: return Value(as<std::string>(in));
    case Shape::integer: return Value(as<std::int64_t>(in));
    case Shape::boolean: return Value(as<bool>(in));
    case Shape::object: return encode_fields(node.fields(), node.value ? node.value(in) : in);
    case Shape::list: {
      Array list;
      for (std::size_t i = 0; i < node.size(in); ++i)
        list.push_back(encode_node(*node.item(), node.at(in, i)));
      return list;
    }
    case Shape::string_map: {
      Object map;
      for (const auto& [key, value] : as<StringMapValue>(in)) map[key] = value;
      return map;
    }
    case Shape::json: {
      const Json& json = as<Json>(in);
      const Result<Value> value = wire::parse_json(json.text ? *json.text : "{}");
      return value ? *value : Value(Object{});
    }
  }
  return nullptr;
}

std::string join(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

bool is_choice(std::string_view choices, std::string_view text) {
  while (!choices.empty()) {
    const std::size_t bar = choices.find('|');
    if (choices.substr(0, bar) == text) return true;
    choices = bar == std::string_view::npos ? std::string_view() : choices.substr(bar + 1);
  }
  return false;
}

void check_string(const Rules& rules, const std::string& text, const std::string& path,
                  std::vector<Breach>& out) {
  if (rules.max_len && text.size() > rules.max_len) {
    out.push_back({path, fmt::format("is {} characters long, at most {} are allowed", text.size(),
                                     rules.max_len)});
  }
  if (text.size() < rules.min_len)
    out.push_back({path, fmt::format("needs at least {} characters", rules.min_len)});
  if (!rules.choices.empty() && !text.empty() && !is_choice(rules.choices, text)) {
    out.push_back({path, fmt::format("'{}' is not one of {}", text, rules.choices)});
  }
}

// A list's own limits of length are those of its strings.
Rules rules_of_items(const Rules& list) {
  return {.min_len = list.min_len, .max_len = list.max_len};
}

void check_list(const Field& field, const Node& node, const void* in, const std::string& path,
                std::vector<Breach>& out) {
  const std::size_t size = node.size(in);
  if (field.rules.max_items && size > field.rules.max_items) {
    out.push_back(
        {path, fmt::format("has {} entries, at most {} are allowed", size, field.rules.max_items)});
  }
  if (size < field.rules.min_items) {
    out.push_back({path, fmt::format("needs at least {} entries", field.rules.min_items)});
  }
  for (std::size_t i = 0; i < size; ++i) {
    const std::string here = fmt::format("{}[{}]", path, i);
    if (node.item()->shape == Shape::object)
      check_fields(node.item()->fields(), node.at(in, i), here, out);
    if (node.item()->shape == Shape::string)
      check_string(rules_of_items(field.rules), as<std::string>(node.at(in, i)), here, out);
  }
}

void check_field(const Field& field, const void* in, const std::string& path,
                 std::vector<Breach>& out) {
  const Node& node = *field.node();
  if (is_empty(node, in)) {
    // A list may be there and empty, unless it says otherwise.
    const bool may_be_empty = node.shape == Shape::list && field.rules.min_items == 0;
    if (field.rules.required && !may_be_empty) out.push_back({path, "is required"});
    return;
  }
  switch (node.shape) {
    case Shape::string: return check_string(field.rules, as<std::string>(in), path, out);
    case Shape::integer: {
      const std::int64_t n = as<std::int64_t>(in);
      if (n < field.rules.min || n > field.rules.max) {
        const Rules& rules = field.rules;
        out.push_back({path, rules.max == kNoMax
                                 ? fmt::format("{} is below {}", n, rules.min)
                                 : fmt::format("{} is not in {}-{}", n, rules.min, rules.max)});
      }
      return;
    }
    case Shape::object:
      return check_fields(node.fields(), node.value ? node.value(in) : in, path, out);
    case Shape::list: return check_list(field, node, in, path, out);
    case Shape::boolean:
    case Shape::string_map:
    case Shape::json: return;
  }
}

// The element of a list whose key field holds the same text; null when there is none.
const void* element_with_key(const Node& list, const void* in, const Field& key,
                             const std::string& text) {
  for (std::size_t i = 0; i < list.size(in); ++i) {
    const void* element = list.at(in, i);
    if (as<std::string>(key.at_const(element)) == text) return element;
  }
  return nullptr;
}

void check_list_unchanged(const Field& field, const Node& node, const void* before,
                          const void* after, const std::string& path, std::vector<Breach>& out) {
  if (field.rules.map_key.empty() || node.item()->shape != Shape::object) return;
  const std::span<const Field> fields = node.item()->fields();
  const Field* key = find_field(fields, field.rules.map_key);
  for (std::size_t i = 0; key && i < node.size(after); ++i) {
    const void* element = node.at(after, i);
    const void* former =
        element_with_key(node, before, *key, as<std::string>(key->at_const(element)));
    if (former) check_unchanged(fields, former, element, fmt::format("{}[{}]", path, i), out);
  }
}

Object schema_of_node(const Node& node, const Rules& rules);

Object schema_of_list(const Node& node, const Rules& rules) {
  Object out{{"type", "array"}, {"items", schema_of_node(*node.item(), rules_of_items(rules))}};
  if (rules.min_items) out["minItems"] = rules.min_items;
  if (rules.max_items) out["maxItems"] = rules.max_items;
  if (!rules.map_key.empty()) {
    out["x-kubernetes-list-type"] = "map";
    out["x-kubernetes-list-map-keys"] = Array{Value(rules.map_key)};
  }
  return out;
}

Object schema_of_string(const Rules& rules) {
  Object out{{"type", "string"}};
  if (rules.min_len) out["minLength"] = rules.min_len;
  if (rules.max_len) out["maxLength"] = rules.max_len;
  if (!rules.choices.empty()) {
    Array choices;
    for (std::string_view rest = rules.choices;;) {
      const std::size_t bar = rest.find('|');
      choices.emplace_back(rest.substr(0, bar));
      if (bar == std::string_view::npos) break;
      rest = rest.substr(bar + 1);
    }
    out["enum"] = std::move(choices);
  }
  return out;
}

Object schema_of_node(const Node& node, const Rules& rules) {
  switch (node.shape) {
    case Shape::string: return schema_of_string(rules);
    case Shape::boolean: return {{"type", "boolean"}};
    case Shape::integer: {
      Object out{{"type", "integer"}, {"format", "int64"}};
      if (rules.min != kNoMin) out["minimum"] = rules.min;
      if (rules.max != kNoMax) out["maximum"] = rules.max;
      return out;
    }
    case Shape::object: return schema_of(node.fields());
    case Shape::list: return schema_of_list(node, rules);
    case Shape::string_map:
      return {{"type", "object"}, {"additionalProperties", Object{{"type", "string"}}}};
    case Shape::json: return {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  }
  return {};
}

}  // namespace

void decode_fields(std::span<const Field> fields, void* out, wire::JsonNode json) {
  json.fields([&](std::string_view key, wire::JsonNode value) {
    if (const Field* field = find_field(fields, key))
      decode_node(*field->node(), field->at(out), value);
  });
}

Object encode_fields(std::span<const Field> fields, const void* in) {
  Object out;
  for (const Field& field : fields) {
    const void* member = field.at_const(in);
    const bool always = field.rules.required || field.rules.always;
    if (always || !is_empty(*field.node(), member)) {
      out[field.name] = encode_node(*field.node(), member);
    }
  }
  return out;
}

void check_fields(std::span<const Field> fields, const void* in, const std::string& path,
                  std::vector<Breach>& out) {
  for (const Field& field : fields)
    check_field(field, field.at_const(in), join(path, field.name), out);
}

void check_unchanged(std::span<const Field> fields, const void* before, const void* after,
                     const std::string& path, std::vector<Breach>& out) {
  for (const Field& field : fields) {
    const Node& node = *field.node();
    const void* was = field.at_const(before);
    const void* is = field.at_const(after);
    const std::string here = join(path, field.name);
    if (field.rules.immutable && encode_node(node, was) != encode_node(node, is)) {
      out.push_back(
          {here, fmt::format("cannot change (was {}, is {})", wire::to_json(encode_node(node, was)),
                             wire::to_json(encode_node(node, is)))});
    } else if (node.shape == Shape::object && !node.present) {
      check_unchanged(node.fields(), was, is, here, out);
    } else if (node.shape == Shape::list) {
      check_list_unchanged(field, node, was, is, here, out);
    }
  }
}

Object schema_of(std::span<const Field> fields) {
  Object properties;
  Array required;
  for (const Field& field : fields) {
    Object schema = schema_of_node(*field.node(), field.rules);
    schema["description"] = field.doc;
    if (field.rules.immutable) {
      schema["x-kubernetes-validations"] = Array{Object{
          {"rule", "self == oldSelf"}, {"message", fmt::format("{} cannot change", field.name)}}};
    }
    properties[field.name] = std::move(schema);
    if (field.rules.required) required.emplace_back(field.name);
  }
  Object out{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) out["required"] = std::move(required);
  return out;
}

}  // namespace berth::api
