// Parameters of a call: tables that say what an action takes, the check of a body against its
// table, and typed access to a body that passed. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cloud/tencent/api_error.h"
#include "wire/value.h"

namespace berth::sim::tencent {

enum class Kind { text, integer, boolean, object };

// One parameter. Built by the functions below, which read as a table does.
struct Field {
  std::string name{};
  Kind kind = Kind::text;
  bool list = false;
  bool is_required = false;
  // Of a number its value, of a text its length.
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::size_t max_items = std::numeric_limits<std::size_t>::max();
  std::vector<std::string> values{};  // empty: any
  std::vector<Field> fields{};        // of an object; empty: not looked into

  Field required() && {
    is_required = true;
    return std::move(*this);
  }
  Field within(std::int64_t low, std::int64_t high) && {
    least = low;
    most = high;
    return std::move(*this);
  }
  Field one_of(std::vector<std::string> allowed) && {
    values = std::move(allowed);
    return std::move(*this);
  }
  Field at_most(std::size_t items) && {
    max_items = items;
    return std::move(*this);
  }
};
using Fields = std::vector<Field>;

Field text(std::string name);
Field number(std::string name);
Field yes_no(std::string name);
Field texts(std::string name);
Field numbers(std::string name);
Field object(std::string name, Fields fields);
Field objects(std::string name, Fields fields);

// Unknown, missing, of the wrong type, out of bounds: the first that is wrong. Null is as good as
// not there.
Outcome<> check(const Fields& fields, const wire::Object& body);

// A body that passed its check. Refers to it.
class Params {
 public:
  explicit Params(const wire::Object& body) : body_(&body) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::string text(std::string_view name) const;  // empty when missing
  std::optional<std::int64_t> number(std::string_view name) const;
  std::optional<bool> yes_no(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  std::vector<std::int64_t> numbers(std::string_view name) const;
  std::optional<Params> object(std::string_view name) const;
  std::vector<Params> objects(std::string_view name) const;
  const wire::Object& body() const { return *body_; }

 private:
  const wire::Value* find(std::string_view name) const;
  const wire::Object* body_;
};

}  // namespace berth::sim::tencent
