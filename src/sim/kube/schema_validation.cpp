#include "sim/kube/schema_validation.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include <fmt/format.h>

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

std::string_view type_name(const Value& value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "boolean";
  if (value.is_double()) return "number";
  if (value.is_number()) return "integer";
  if (value.is_array()) return "array";
  return value.is_null() ? "null" : "object";
}

bool is_integral(const Value& value) {
  if (!value.is_double()) return value.is_number();
  return std::trunc(value.get_double()) == value.get_double();
}

bool fits_type(const Value& value, const Schema& schema) {
  if (schema.int_or_string) return value.is_string() || is_integral(value);
  if (schema.type.empty()) return true;
  if (schema.type == "integer") return is_integral(value);
  if (schema.type == "number") return value.is_number();
  return schema.type == type_name(value);
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

template <class Count>
bool below(Count count, const std::optional<std::int64_t>& limit) {
  return limit && static_cast<std::int64_t>(count) < *limit;
}
template <class Count>
bool above(Count count, const std::optional<std::int64_t>& limit) {
  return limit && static_cast<std::int64_t>(count) > *limit;
}

Cause too_many(const std::string& path, std::size_t count, std::int64_t limit,
               std::string_view what) {
  return {"FieldValueTooMany",
          fmt::format("Too many: {}: must have at most {} {}", count, limit, what), path};
}

class Validator {
 public:
  void check(const Value& value, const Schema& schema, const std::string& path) {
    if (value.is_null() && schema.nullable) return;
    if (!fits_type(value, schema)) {
      Cause cause = invalid_value(
          path, Value(type_name(value)),
          fmt::format("{} in body must be of type {}: \"{}\"", path,
                      schema.int_or_string ? "integer,string" : schema.type, type_name(value)));
      cause.reason = "FieldValueTypeInvalid";
      causes_.push_back(std::move(cause));
      check_enum(value, schema, path);
      return;
    }
    check_enum(value, schema, path);
    if (value.is_string()) check_string(value, schema, path);
    if (value.is_number()) check_number(value, schema, path);
    if (value.is_array()) check_array(value.get_array(), schema, path);
    if (value.is_object()) check_object(value.get_object(), schema, path);
  }

  void check_fields(const Object& object, const Schema& schema, const std::string& path) {
    for (const std::string& name : schema.required) {
      if (!object.contains(name)) causes_.push_back(required_value(join(path, name)));
    }
    for (const auto& field : object) {
      if (path.empty() &&
          (field.key() == "metadata" || field.key() == "apiVersion" || field.key() == "kind")) {
        continue;
      }
      const Schema* inner = schema.child(field.key());
      if (inner != nullptr) check(field.value(), *inner, join(path, field.key()));
    }
  }

  Causes take() { return std::move(causes_); }

 private:
  static std::string join(const std::string& path, std::string_view name) {
    return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
  }

  void add(const std::string& path, const Value& value, std::string_view rest) {
    causes_.push_back(invalid_value(path, value, fmt::format("{} in body {}", path, rest)));
  }

  void check_enum(const Value& value, const Schema& schema, const std::string& path) {
    if (schema.enumeration.empty()) return;
    if (std::ranges::find(schema.enumeration, value) != schema.enumeration.end()) return;
    std::vector<std::string> supported;
    for (const Value& one : schema.enumeration) {
      supported.push_back(one.is_string() ? std::string(one.get_string()) : wire::to_json(one));
    }
    causes_.push_back(unsupported_value(path, value, supported));
  }

  void check_string(const Value& value, const Schema& schema, const std::string& path) {
    const std::string_view text = value.get_string();
    const std::size_t length = characters(text);
    // Of several defects, the first is told.
    if (above(length, schema.max_length)) {
      return causes_.push_back(
          {"FieldValueTooLong",
           fmt::format("Too long: may not be more than {} bytes", *schema.max_length), path});
    }
    if (below(length, schema.min_length)) {
      add(path, value, fmt::format("should be at least {} chars long", *schema.min_length));
    } else if (schema.pattern && !schema.pattern->matches(text)) {
      add(path, value, fmt::format("should match '{}'", schema.pattern->text()));
    }
  }

  void check_number(const Value& value, const Schema& schema, const std::string& path) {
    const double number = value.to_number<double>();
    if (schema.multiple_of && std::remainder(number, *schema.multiple_of) != 0) {
      add(path, value, fmt::format("should be a multiple of {}", *schema.multiple_of));
    }
    if (schema.maximum &&
        (number > *schema.maximum || (schema.exclusive_maximum && number == *schema.maximum))) {
      add(path, value,
          fmt::format("should be less than {}{}", schema.exclusive_maximum ? "" : "or equal to ",
                      *schema.maximum));
    }
    if (schema.minimum &&
        (number < *schema.minimum || (schema.exclusive_minimum && number == *schema.minimum))) {
      add(path, value,
          fmt::format("should be greater than {}{}", schema.exclusive_minimum ? "" : "or equal to ",
                      *schema.minimum));
    }
  }

  void check_array(const Array& array, const Schema& schema, const std::string& path) {
    if (below(array.size(), schema.min_items)) {
      add(path, Value(array.size()),
          fmt::format("should have at least {} items", *schema.min_items));
    }
    if (above(array.size(), schema.max_items)) {
      causes_.push_back(too_many(path, array.size(), *schema.max_items, "items"));
    }
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (schema.items != nullptr) check(array[i], *schema.items, fmt::format("{}[{}]", path, i));
    }
    check_duplicates(array, schema, path);
  }

  void check_duplicates(const Array& array, const Schema& schema, const std::string& path) {
    if (schema.list_type != "map" && schema.list_type != "set") return;
    std::vector<Value> seen;
    for (std::size_t i = 0; i < array.size(); ++i) {
      Value key = array[i];
      if (schema.list_type == "map") {
        if (!array[i].is_object()) {
          causes_.push_back(invalid_value(fmt::format("{}[{}]", path, i), array[i],
                                          "must be an object for an array of list-type map"));
          continue;
        }
        Object keys;
        for (const std::string& name : schema.list_map_keys) {
          if (const Value* part = array[i].get_object().if_contains(name)) keys[name] = *part;
        }
        key = std::move(keys);
      }
      if (std::ranges::find(seen, key) != seen.end()) {
        causes_.push_back({"FieldValueDuplicate", "Duplicate value: " + shown_value(key),
                           fmt::format("{}[{}]", path, i)});
      }
      seen.push_back(std::move(key));
    }
  }

  void check_object(const Object& object, const Schema& schema, const std::string& path) {
    if (below(object.size(), schema.min_properties)) {
      add(path, Value(object.size()),
          fmt::format("should have at least {} properties", *schema.min_properties));
    }
    if (above(object.size(), schema.max_properties)) {
      causes_.push_back(too_many(path, object.size(), *schema.max_properties, "items"));
    }
    check_fields(object, schema, path);
  }

  Causes causes_;
};

// Finds fields that must not change. Items of a list are paired by the list's keys: without keys an
// item has no past.
void check_rules(const Value& value, const Value& old, const Schema& schema,
                 const std::string& path, Causes& causes) {
  if (schema.immutable && value != old) {
    causes.push_back(
        invalid_value(path, value.is_object() || value.is_array() ? Value(type_name(value)) : value,
                      schema.immutable_message));
  }
  if (value.is_object() && old.is_object()) {
    for (const auto& field : value.get_object()) {
      const Schema* inner = schema.child(field.key());
      const Value* before = old.get_object().if_contains(field.key());
      if (inner == nullptr || before == nullptr) continue;
      const std::string_view key = field.key();
      check_rules(field.value(), *before, *inner,
                  path.empty() ? std::string(key) : fmt::format("{}.{}", path, key), causes);
    }
  }
  if (!value.is_array() || !old.is_array() || schema.items == nullptr ||
      schema.list_type != "map") {
    return;
  }
  const Array& items = value.get_array();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto before = std::ranges::find_if(old.get_array(), [&](const Value& candidate) {
      return std::ranges::all_of(schema.list_map_keys, [&](const std::string& key) {
        const Value* a = wire::find(items[i], "/" + wire::escape_pointer_step(key));
        const Value* b = wire::find(candidate, "/" + wire::escape_pointer_step(key));
        return a != nullptr && b != nullptr && *a == *b;
      });
    });
    if (before != old.get_array().end()) {
      check_rules(items[i], *before, *schema.items, fmt::format("{}[{}]", path, i), causes);
    }
  }
}

// Errors after which the real server does not evaluate rules.
bool blocks_rules(const Cause& cause) {
  return cause.reason == "FieldValueRequired" || cause.reason == "FieldValueTypeInvalid" ||
         cause.reason == "FieldValueTooLong" || cause.reason == "FieldValueTooMany" ||
         cause.reason == "FieldValueNotSupported";
}

}  // namespace

Causes validate_default(const Value& value, const Schema& schema) {
  Validator validator;
  validator.check(value, schema, {});
  return validator.take();
}

Causes validate_schema(const Value& object, const Value* old, const Schema& schema) {
  Validator validator;
  validator.check_fields(object.get_object(), schema, {});
  Causes causes = validator.take();
  if (!schema.has_rules()) return causes;
  if (std::ranges::any_of(causes, blocks_rules)) {
    causes.push_back(invalid_value("<nil>", Value(),
                                   "some validation rules were not checked because the object was "
                                   "invalid; correct the existing errors to complete validation"));
    return causes;
  }
  if (old != nullptr) check_rules(object, *old, schema, {}, causes);
  return causes;
}

}  // namespace berth::sim::kube
