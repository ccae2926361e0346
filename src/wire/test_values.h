// Random JSON documents for property tests. Small, with few names, so that documents overlap.
#pragma once

#include <rapidcheck.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include "wire/value.h"

namespace berth::wire {

struct ValueShape {
  int depth = 3;
  bool nulls = true;     // as fields of objects
  bool any_text = true;  // strings of any bytes up to 0x7f, and some beyond
};

// Evenly in [0, bound), whatever the size that the property has grown to.
inline int pick(int bound) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound));
}

inline std::string generated_key() {
  return *rc::gen::element<std::string>("a", "b", "c", "items", "a/b", "~", "", "yes", "0", "-",
                                        "x y", "<<");
}

inline std::string generated_text(const ValueShape& shape) {
  const auto plain =
      *rc::gen::element<std::string>("x", "true", "NO", "0644", "1.5", "", " ", "a: b", "- x", "#",
                                     "null", "10.0.0.1", "a\nb\n", "\n");
  if (!shape.any_text || *rc::gen::arbitrary<bool>()) return plain;
  const auto piece = rc::gen::weightedOneOf<std::string>(
      {{6, rc::gen::container<std::string>(1, rc::gen::inRange<char>(1, 127))},
       {4, rc::gen::element<std::string>("\n", " ", "\t", ":", "-", "#", "'", "\"", "\\", "|")},
       {1, rc::gen::element<std::string>("é", "中", "😀", "\u2028", "\u0085", "\ufeff")}});
  std::string text;
  for (const auto& one : *rc::gen::container<std::vector<std::string>>(piece)) text += one;
  return text;
}

inline Value generated_scalar(const ValueShape& shape) {
  switch (pick(6)) {
    case 0: return *rc::gen::arbitrary<bool>();
    case 1: return *rc::gen::inRange<std::int64_t>(-2, 3);
    case 2: return *rc::gen::arbitrary<std::int64_t>();
    case 3: return *rc::gen::arbitrary<std::int32_t>() + 0.5;
    default: return Value(generated_text(shape));
  }
}

// Call it inside a property.
inline Value generated_value(ValueShape shape = {}) {
  const int choice = shape.depth == 0 ? 0 : pick(5);
  --shape.depth;
  if (choice == 0) return generated_scalar(shape);
  const int size = pick(4);
  if (choice < 3) {
    Array array;
    for (int i = 0; i < size; ++i) {
      array.push_back(pick(8) == 0 ? Value() : generated_value(shape));
    }
    return array;
  }
  Object object;
  for (int i = 0; i < size; ++i) {
    const bool null = shape.nulls && pick(6) == 0;
    object.insert_or_assign(generated_key(), null ? Value() : generated_value(shape));
  }
  return object;
}

}  // namespace berth::wire
