// A kind as one table of member pointers. Decode, encode, validation, CRD schema and docs are
// walkers over it
// (`api/walkers.h`), so a field is written once and a forgotten one does not compile.
//
//   template <> std::span<const Field> fields_of<PoolItem>() {
//     static constexpr Field f[] = {field<&PoolItem::item_name>("itemName", "Name inside the
//     pool.",
//                                                               {.max_len = 128, .required =
//                                                               true}), ...};
//     static_assert(covers<PoolItem>(f));
//     return f;
//   }
//
// Tables are constant and may be read by any task.
#pragma once

#include <boost/pfr.hpp>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/boxed.h"

namespace berth::api {

// What a field may hold. Zero values mean "not limited".
struct Rules {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::size_t min_len = 0;  // of a string, or of each in a list of strings
  std::size_t max_len = 0;
  std::size_t min_items = 0;  // of a list
  std::size_t max_items = 0;
  std::string_view choices{};  // "TCP|UDP": the allowed texts
  std::string_view map_key{};  // a list whose elements are told apart by this field
  bool required = false;
  bool immutable = false;
  bool always = false;  // written also when it is empty or 0
};

// An object of which we read nothing and keep everything. Empty when absent.
struct Json {
  Boxed<std::string> text{};

  friend bool operator==(const Json&, const Json&) = default;
};

enum class Shape : std::uint8_t { string, integer, boolean, object, list, string_map, json };

struct Field;

// The type of a member, with the operations that walkers need.
struct Node {
  Shape shape;
  std::span<const Field> (*fields)() = nullptr;                // object
  const Node* (*item)() = nullptr;                             // list
  void* (*append)(void* list) = nullptr;                       // list: a new element at the end
  std::size_t (*size)(const void* list) = nullptr;             // list
  const void* (*at)(const void* list, std::size_t) = nullptr;  // list
  bool (*present)(const void*) = nullptr;                      // optional object
  void* (*engage)(void*) = nullptr;                            // optional object: makes it present
  const void* (*value)(const void*) = nullptr;                 // optional object
};

struct Field {
  std::string_view name;
  std::string_view doc;
  Rules rules;
  const Node* (*node)();
  void* (*at)(void* owner);

  const void* at_const(const void* owner) const { return at(const_cast<void*>(owner)); }
};

// Each struct of a kind specialises this.
template <class T>
std::span<const Field> fields_of();

namespace detail {

template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsOptional<Boxed<T>> : std::true_type {};

template <class M>
struct MemberOf;
template <class Owner, class T>
struct MemberOf<T Owner::*> {
  using owner = Owner;
  using type = T;
};

template <class T>
const Node* node_of();

template <class T>
const Node* list_node() {
  using Item = typename T::value_type;
  static constexpr Node kNode{
      .shape = Shape::list,
      .item = node_of<Item>,
      .append = [](void* list) -> void* { return &static_cast<T*>(list)->emplace_back(); },
      .size = [](const void* list) { return static_cast<const T*>(list)->size(); },
      .at = [](const void* list, std::size_t i) -> const void* {
        return &(*static_cast<const T*>(list))[i];
      }};
  return &kNode;
}

template <class T>
const Node* optional_node() {
  using Inner = typename T::value_type;
  static constexpr Node kNode{
      .shape = Shape::object,
      .fields = fields_of<Inner>,
      .present = [](const void* p) { return static_cast<const T*>(p)->has_value(); },
      .engage = [](void* p) -> void* { return &static_cast<T*>(p)->emplace(); },
      .value = [](const void* p) -> const void* { return &**static_cast<const T*>(p); }};
  return &kNode;
}

template <class T>
const Node* node_of() {
  if constexpr (std::is_same_v<T, std::string>) {
    static constexpr Node kNode{.shape = Shape::string};
    return &kNode;
  } else if constexpr (std::is_same_v<T, bool>) {
    static constexpr Node kNode{.shape = Shape::boolean};
    return &kNode;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    static constexpr Node kNode{.shape = Shape::integer};
    return &kNode;
  } else if constexpr (std::is_same_v<T, std::map<std::string, std::string>>) {
    static constexpr Node kNode{.shape = Shape::string_map};
    return &kNode;
  } else if constexpr (std::is_same_v<T, Json>) {
    static constexpr Node kNode{.shape = Shape::json};
    return &kNode;
  } else if constexpr (IsList<T>::value) {
    return list_node<T>();
  } else if constexpr (IsOptional<T>::value) {
    return optional_node<T>();
  } else {
    static constexpr Node kNode{.shape = Shape::object, .fields = fields_of<T>};
    return &kNode;
  }
}

}  // namespace detail

template <auto Member>
constexpr Field field(std::string_view name, std::string_view doc, Rules rules = {}) {
  using Owner = typename detail::MemberOf<decltype(Member)>::owner;
  using T = typename detail::MemberOf<decltype(Member)>::type;
  return {name, doc, rules, detail::node_of<T>,
          [](void* owner) -> void* { return &(static_cast<Owner*>(owner)->*Member); }};
}

// One table entry for each member of the struct.
template <class T, std::size_t N>
constexpr bool covers(const Field (&)[N]) {
  return N == boost::pfr::tuple_size_v<T>;
}

}  // namespace berth::api
