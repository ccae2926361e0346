#include "sim/kube/schema.h"

#include <algorithm>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "sim/kube/schema_validation.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::string_view kOnlyRule = "self == oldSelf";

std::optional<double> number_at(const Value& value, std::string_view key) {
  const Value* found = wire::find(value, key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return found->to_number<double>();
}

std::vector<std::string> strings_at(const Value& value, std::string_view pointer) {
  std::vector<std::string> strings;
  const Array* list = wire::array_at(value, pointer);
  if (list == nullptr) return strings;
  for (const Value& one : *list) {
    if (one.is_string()) strings.emplace_back(one.get_string());
  }
  return strings;
}

bool flag_at(const Value& value, std::string_view pointer) {
  return wire::bool_at(value, pointer).value_or(false);
}

void read_limits(Schema& schema, const Value& from) {
  schema.minimum = number_at(from, "/minimum");
  schema.maximum = number_at(from, "/maximum");
  schema.multiple_of = number_at(from, "/multipleOf");
  schema.exclusive_minimum = flag_at(from, "/exclusiveMinimum");
  schema.exclusive_maximum = flag_at(from, "/exclusiveMaximum");
  schema.min_length = wire::int_at(from, "/minLength");
  schema.max_length = wire::int_at(from, "/maxLength");
  schema.min_items = wire::int_at(from, "/minItems");
  schema.max_items = wire::int_at(from, "/maxItems");
  schema.min_properties = wire::int_at(from, "/minProperties");
  schema.max_properties = wire::int_at(from, "/maxProperties");
  if (const Array* values = wire::array_at(from, "/enum")) schema.enumeration = *values;
}

void read_pattern(Schema& schema, const Value& from, const std::string& path, Causes& causes) {
  const std::string_view text = wire::string_at(from, "/pattern");
  if (text.empty()) return;
  Result<Pattern> pattern = Pattern::compile(std::string(text));
  if (pattern) {
    schema.pattern = std::move(*pattern);
    return;
  }
  causes.push_back(
      invalid_value(path + ".pattern", Value(text),
                    "must be a valid regular expression, but isn't: " + pattern.error().message));
}

void read_rules(Schema& schema, const Value& from, const std::string& path, Causes& causes) {
  const Array* rules = wire::array_at(from, "/x-kubernetes-validations");
  for (std::size_t i = 0; rules != nullptr && i < rules->size(); ++i) {
    const Value& rule = (*rules)[i];
    const std::string_view text = wire::string_at(rule, "/rule");
    if (text != kOnlyRule) {
      causes.push_back(invalid_value(fmt::format("{}.x-kubernetes-validations[{}].rule", path, i),
                                     Value(text),
                                     "the embedded server knows the rule `self == oldSelf` alone"));
      continue;
    }
    schema.immutable = true;
    schema.immutable_message = wire::string_at(rule, "/message");
    if (schema.immutable_message.empty()) {
      schema.immutable_message = fmt::format("failed rule: {}", text);
    }
  }
}

void check_type(const Schema& schema, const std::string& path, Causes& causes) {
  static const std::vector<std::string> kTypes = {"array",  "boolean", "integer",
                                                  "number", "object",  "string"};
  if (schema.type.empty()) {
    if (schema.int_or_string || schema.preserve_unknown) return;
    const bool field = path.ends_with(']');
    const bool item = path.ends_with(".items");
    causes.push_back(
        required_value(path + ".type", field  ? "must not be empty for specified object fields"
                                       : item ? "must not be empty for specified array items"
                                              : "must not be empty at the root"));
    return;
  }
  if (std::ranges::find(kTypes, schema.type) == kTypes.end()) {
    causes.push_back(unsupported_value(path + ".type", Value(schema.type.c_str()), kTypes));
  }
}

void read_list(Schema& schema, const Value& from, const std::string& path, Causes& causes) {
  schema.list_type = wire::string_at(from, "/x-kubernetes-list-type");
  schema.list_map_keys = strings_at(from, "/x-kubernetes-list-map-keys");
  const Value* items = wire::find(from, "/items");
  if (items != nullptr && items->is_array()) {
    causes.push_back(
        forbidden_value(path + ".items", "items must be a schema object and not an array"));
  } else if (items != nullptr) {
    schema.items = Schema::parse(*items, path + ".items", causes);
  } else if (schema.type == "array") {
    causes.push_back(required_value(path + ".items", "must be specified"));
  }
  if (schema.list_type == "map" && schema.list_map_keys.empty()) {
    causes.push_back(required_value(path + ".x-kubernetes-list-map-keys",
                                    "must not be empty if x-kubernetes-list-type is map"));
  }
}

void read_fields(Schema& schema, const Value& from, const std::string& path, Causes& causes) {
  if (const Object* properties = wire::object_at(from, "/properties")) {
    for (const auto& property : *properties) {
      const std::string key(property.key());
      schema.properties[key] =
          Schema::parse(property.value(), fmt::format("{}.properties[{}]", path, key), causes);
    }
  }
  const Value* additional = wire::find(from, "/additionalProperties");
  if (additional == nullptr) return;
  if (additional->is_bool()) {
    schema.additional_any = additional->get_bool();
  } else {
    schema.additional = Schema::parse(*additional, path + ".additionalProperties", causes);
  }
  if (!schema.properties.empty() && (schema.additional != nullptr || schema.additional_any)) {
    causes.push_back(forbidden_value(path + ".additionalProperties",
                                     "additionalProperties and properties are mutual exclusive"));
  }
}

void check_default(const Schema& schema, const std::string& path, Causes& causes) {
  if (!schema.default_value) return;
  for (Cause& cause : validate_default(*schema.default_value, schema)) {
    cause.field = path + ".default" + (cause.field.empty() ? "" : ".") + cause.field;
    causes.push_back(std::move(cause));
  }
}

bool is_metadata_step(const std::string& path, std::string_view key) {
  return path.empty() && (key == "metadata" || key == "apiVersion" || key == "kind");
}

void prune_at(Value& value, const Schema& schema, const std::string& path,
              std::vector<std::string>& unknown) {
  if (value.is_array() && schema.items != nullptr) {
    std::size_t i = 0;
    for (Value& item : value.get_array()) {
      prune_at(item, *schema.items, fmt::format("{}[{}]", path, i++), unknown);
    }
    return;
  }
  if (!value.is_object()) return;
  Object kept;
  for (auto& field : value.get_object()) {
    const std::string at = path.empty() ? std::string(field.key())
                                        : fmt::format("{}.{}", path, std::string_view(field.key()));
    const Schema* inner = schema.child(field.key());
    const bool envelope = schema.embedded && is_metadata_step({}, field.key());
    if (is_metadata_step(path, field.key()) || envelope) {
      kept[field.key()] = std::move(field.value());
    } else if (inner != nullptr) {
      prune_at(field.value(), *inner, at, unknown);
      kept[field.key()] = std::move(field.value());
    } else if (schema.preserve_unknown || schema.additional_any) {
      kept[field.key()] = std::move(field.value());
    } else {
      unknown.push_back(at);
    }
  }
  value = std::move(kept);
}

void default_at(Value& value, const Schema& schema, bool root) {
  if (value.is_array() && schema.items != nullptr) {
    for (Value& item : value.get_array()) default_at(item, *schema.items, false);
    return;
  }
  if (!value.is_object()) return;
  Object& fields = value.get_object();
  // A null where none may be counts as left out.
  for (auto field = fields.begin(); field != fields.end();) {
    const Schema* inner = schema.child(field->key());
    const bool dropped = inner != nullptr && field->value().is_null() && !inner->nullable;
    field = dropped ? fields.stable_erase(field) : field + 1;
  }
  for (const auto& [name, inner] : schema.properties) {
    if (root && is_metadata_step({}, name)) continue;
    if (inner->default_value && !fields.contains(name)) fields[name] = *inner->default_value;
  }
  for (auto& field : fields) {
    if (root && is_metadata_step({}, field.key())) continue;
    if (const Schema* inner = schema.child(field.key())) default_at(field.value(), *inner, false);
  }
}

}  // namespace

std::shared_ptr<const Schema> Schema::parse(const Value& openapi, const std::string& path,
                                            Causes& causes) {
  auto schema = std::make_shared<Schema>();
  schema->type = wire::string_at(openapi, "/type");
  schema->nullable = flag_at(openapi, "/nullable");
  schema->preserve_unknown = flag_at(openapi, "/x-kubernetes-preserve-unknown-fields");
  schema->int_or_string = flag_at(openapi, "/x-kubernetes-int-or-string");
  schema->embedded = flag_at(openapi, "/x-kubernetes-embedded-resource");
  schema->atomic_map = wire::string_at(openapi, "/x-kubernetes-map-type") == "atomic";
  if (const Value* value = wire::find(openapi, "/default")) schema->default_value = *value;
  schema->required = strings_at(openapi, "/required");
  read_limits(*schema, openapi);
  read_pattern(*schema, openapi, path, causes);
  read_rules(*schema, openapi, path, causes);
  read_fields(*schema, openapi, path, causes);
  read_list(*schema, openapi, path, causes);
  check_type(*schema, path, causes);
  check_default(*schema, path, causes);
  return schema;
}

const Schema* Schema::child(std::string_view field) const {
  const auto found = properties.find(field);
  return found == properties.end() ? additional.get() : found->second.get();
}

bool Schema::has_rules() const {
  const auto below = [](const auto& schema) { return schema != nullptr && schema->has_rules(); };
  return immutable || below(items) || below(additional) ||
         std::ranges::any_of(properties, [&](const auto& entry) { return below(entry.second); });
}

void prune(Value& object, const Schema& schema, std::vector<std::string>& unknown) {
  prune_at(object, schema, {}, unknown);
}

void apply_defaults(Value& object, const Schema& schema) { default_at(object, schema, true); }

}  // namespace berth::sim::kube
