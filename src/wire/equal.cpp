#include "wire/equal.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace berth::wire {
namespace {

bool equal_fields(const Object& a, const Object& b) {
  if (a.size() != b.size()) return false;
  for (const auto& field : a) {
    const Value* const other = b.if_contains(field.key());
    if (other == nullptr || !equal(field.value(), *other)) return false;
  }
  return true;
}

bool equal_items(const Array& a, const Array& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!equal(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace

bool equal(const Value& a, const Value& b) {
  if (a.is_object()) return b.is_object() && equal_fields(a.get_object(), b.get_object());
  if (a.is_array()) return b.is_array() && equal_items(a.get_array(), b.get_array());
  return a == b;
}

}  // namespace berth::wire
