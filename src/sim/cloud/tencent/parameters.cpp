#include "sim/cloud/tencent/parameters.h"

#include <algorithm>
#include <boost/json.hpp>

namespace berth::sim::tencent {
namespace {

Field field(std::string name, Kind kind, bool list) {
  Field out;
  out.name = std::move(name);
  out.kind = kind;
  out.list = list;
  return out;
}

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::text: return "string";
    case Kind::integer: return "int64";
    case Kind::boolean: return "bool";
    case Kind::object: return "object";
  }
  return "";
}

bool is_of(Kind kind, const wire::Value& value) {
  switch (kind) {
    case Kind::text: return value.is_string();
    case Kind::integer: return value.is_int64();
    case Kind::boolean: return value.is_bool();
    case Kind::object: return value.is_object();
  }
  return false;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

Outcome<> check_text(const Field& field, const std::string& path, std::string_view value) {
  const auto length = static_cast<std::int64_t>(characters(value));
  if (length < field.least || length > field.most) {
    return refuse("InvalidParameterValue.Length", "Length of `{}` should be {} to {}.", path,
                  field.least, field.most);
  }
  if (field.values.empty() || std::ranges::find(field.values, value) != field.values.end())
    return {};
  return refuse("InvalidParameterValue", "`{}` should be one of {}, not `{}`.", path,
                fmt::join(field.values, ", "), value);
}

Outcome<> check_fields(const Fields& fields, const wire::Object& body, const std::string& path);

Outcome<> check_one(const Field& field, const std::string& path, const wire::Value& value) {
  if (!is_of(field.kind, value)) {
    return refuse("InvalidParameter", "The type of parameter `{}` should be {}.", path,
                  name_of(field.kind));
  }
  if (field.kind == Kind::text) return check_text(field, path, value.get_string());
  if (field.kind == Kind::integer) {
    const std::int64_t number = value.get_int64();
    if (number < field.least || number > field.most) {
      return refuse("InvalidParameterValue.Range", "`{}` should be {} to {}, not {}.", path,
                    field.least, field.most, number);
    }
  }
  if (field.kind == Kind::object && !field.fields.empty())
    return check_fields(field.fields, value.get_object(), path + ".");
  return {};
}

Outcome<> check_list(const Field& field, const std::string& path, const wire::Value& value) {
  if (!value.is_array()) {
    return refuse("InvalidParameter", "The type of parameter `{}` should be array.", path);
  }
  const wire::Array& items = value.get_array();
  if (items.size() > field.max_items) {
    return refuse("InvalidParameterValue.Length", "Length of `{}` should be less than {}.", path,
                  field.max_items + 1);
  }
  if (field.is_required && items.empty())
    return refuse("MissingParameter", "The request is missing a required parameter `{}`.", path);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (auto good = check_one(field, fmt::format("{}.{}", path, i), items[i]); !good) return good;
  }
  return {};
}

Outcome<> check_fields(const Fields& fields, const wire::Object& body, const std::string& path) {
  for (const auto& [key, value] : body) {
    const std::string_view name = key;
    if (std::ranges::find(fields, name, &Field::name) == fields.end())
      return refuse("UnknownParameter", "The parameter `{}{}` is not recognized.", path, name);
  }
  for (const Field& field : fields) {
    const wire::Value* value = body.if_contains(field.name);
    if (value == nullptr || value->is_null()) {
      if (!field.is_required) continue;
      return refuse("MissingParameter", "The request is missing a required parameter `{}{}`.", path,
                    field.name);
    }
    const std::string name = path + field.name;
    auto good = field.list ? check_list(field, name, *value) : check_one(field, name, *value);
    if (!good) return good;
  }
  return {};
}

}  // namespace

Field text(std::string name) { return field(std::move(name), Kind::text, false); }
Field number(std::string name) { return field(std::move(name), Kind::integer, false); }
Field yes_no(std::string name) { return field(std::move(name), Kind::boolean, false); }
Field texts(std::string name) { return field(std::move(name), Kind::text, true); }
Field numbers(std::string name) { return field(std::move(name), Kind::integer, true); }
Field object(std::string name, Fields fields) {
  Field out = field(std::move(name), Kind::object, false);
  out.fields = std::move(fields);
  return out;
}
Field objects(std::string name, Fields fields) {
  Field out = object(std::move(name), std::move(fields));
  out.list = true;
  return out;
}

Outcome<> check(const Fields& fields, const wire::Object& body) {
  return check_fields(fields, body, "");
}

const wire::Value* Params::find(std::string_view name) const {
  const wire::Value* value = body_->if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string Params::text(std::string_view name) const {
  const wire::Value* value = find(name);
  return value == nullptr ? std::string{} : std::string(value->get_string());
}

std::optional<std::int64_t> Params::number(std::string_view name) const {
  const wire::Value* value = find(name);
  if (value == nullptr) return std::nullopt;
  return value->get_int64();
}

std::optional<bool> Params::yes_no(std::string_view name) const {
  const wire::Value* value = find(name);
  if (value == nullptr) return std::nullopt;
  return value->get_bool();
}

std::vector<std::string> Params::texts(std::string_view name) const {
  std::vector<std::string> out;
  if (const wire::Value* value = find(name)) {
    for (const wire::Value& item : value->get_array()) out.emplace_back(item.get_string());
  }
  return out;
}

std::vector<std::int64_t> Params::numbers(std::string_view name) const {
  std::vector<std::int64_t> out;
  if (const wire::Value* value = find(name)) {
    for (const wire::Value& item : value->get_array()) out.push_back(item.get_int64());
  }
  return out;
}

std::optional<Params> Params::object(std::string_view name) const {
  const wire::Value* value = find(name);
  if (value == nullptr) return std::nullopt;
  return Params(value->get_object());
}

std::vector<Params> Params::objects(std::string_view name) const {
  std::vector<Params> out;
  if (const wire::Value* value = find(name)) {
    for (const wire::Value& item : value->get_array()) out.emplace_back(item.get_object());
  }
  return out;
}

}  // namespace berth::sim::tencent
