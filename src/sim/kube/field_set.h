// A set of fields of an object, as `managedFields` records who owns what (FieldsV1). A field below
// another one is a member of its own: {"f:a":{".":{},"f:b":{}}} holds `a` and `a.b`. Plain values.
//
// A step is written as in that JSON, with its escapes: f:name, k:{\"name\":\"x\"} for the element
// of a keyed list, v:\"x\" for one of a set. Stored objects carry sets as text and parse them when
// somebody asks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/value.h"

namespace berth::sim::kube {

// From the root to a field, as a chain through the callers' frames. Steps are written when somebody
// wants to see them.
struct FieldPath {
  const FieldPath* up = nullptr;
  std::string_view text{};  // the name of a field, or a step
  bool is_step = false;
};

// As it stands between the quotes of a JSON string.
std::string json_escaped(std::string_view text);

// Steps, escaped as they stand in a set.
std::string field_step(std::string_view name);
std::string key_step(const wire::Object& keys);
std::string value_step(const wire::Value& value);
std::string shown_step(std::string_view step);  // ".name", "[name=\"x\"]", "[=\"x\"]"

class FieldSet {
 public:
  struct Node;

  // As `text` writes it: sorted, without spaces. Nothing else is taken.
  static std::optional<FieldSet> parse(std::string_view text);
  // As clients write it.
  static std::optional<FieldSet> from_json(const wire::Value& fields);
  std::string text() const;

  // How many members the set of that text shares with another, without parsing it. The text must
  // be one that `text` wrote.
  static std::size_t shared_members(std::string_view text, const FieldSet& with);

  bool empty() const { return nodes_.empty(); }
  std::size_t size() const;
  void insert(const FieldPath& path);
  const Node* find(std::string_view step) const;
  const std::vector<Node>& nodes() const { return nodes_; }
  // Every member, as refusals name it (".spec.ports[port=80].name").
  std::vector<std::string> paths() const;

  FieldSet united(const FieldSet& other) const;
  FieldSet intersected(const FieldSet& other) const;
  FieldSet without(const FieldSet& other) const;

  friend bool operator==(const FieldSet&, const FieldSet&);

 private:
  friend class FieldSetParser;
  Node& at(std::string_view step);
  void append(std::string& out, bool member) const;
  void collect(const std::string& prefix, std::vector<std::string>& out) const;
  // Walks two sets side by side; `keep` makes of the two memberships the one of the result.
  template <class Keep>
  static FieldSet combined(const FieldSet& a, const FieldSet& b, Keep keep);

  std::vector<Node> nodes_;  // sorted by step; none is without a member
};

struct FieldSet::Node {
  std::string step{};
  bool member = false;
  FieldSet below{};

  friend bool operator==(const Node&, const Node&) = default;
};

}  // namespace berth::sim::kube
