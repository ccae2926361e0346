// What merging must know of the types in an object: which lists are keyed, which are sets, what has
// one owner as a whole. A custom kind says it in its schema; built-in kinds have one table here,
// which strategic merge patches and server-side apply share. Everything unlisted is a plain field,
// a list that is replaced, or a map that is merged. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/kube/kinds.h"
#include "wire/value.h"

namespace berth::sim::kube {

// How the elements of a list are told apart: by these fields, by their value (`set`), or not at
// all.
struct ListRule {
  std::vector<std::string_view> keys{};
  bool set = false;

  bool atomic() const { return keys.empty() && !set; }
};

// A place in an object of a kind. Cheap to copy; the kind must outlive it, and for built-in kinds
// the names of the steps too.
class FieldType {
 public:
  explicit FieldType(const ServedKind& served);

  FieldType field(std::string_view name) const;
  FieldType item() const;

  // For server-side apply.
  ListRule list() const;
  bool atomic_map() const;
  // The type names this field, as opposed to a map that has it as a key.
  bool declares(std::string_view name) const;
  // The object may have it, as far as its schema says.
  bool knows(std::string_view name) const;
  // Go's zero value of the type has this field already, so that creating an object adds just what
  // is in it.
  bool has_always(std::string_view name) const;
  // What the element of a keyed list has in this key; null when it has none.
  wire::Value key_of(const wire::Value& item, std::string_view key) const;

  // For strategic merge patches: the one key of a list of objects, "=" when scalars are added to
  // those that are there, empty when the list is replaced.
  std::string_view patch_key() const;

 private:
  const Kind* kind_ = nullptr;
  const Schema* schema_ = nullptr;
  // Below metadata, or in a built-in kind: by the names of the last two fields.
  bool builtin_ = false;
  bool item_ = false;
  std::string_view parent_{};
  std::string_view name_{};
};

}  // namespace berth::sim::kube
