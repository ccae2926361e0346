// Objects seen as fields that have owners: what a change added, modified and removed, which fields
// a configuration speaks of, merging it into an object, and taking out what nobody wants any more.
// Pure.
#pragma once

#include "sim/kube/field_set.h"
#include "sim/kube/field_types.h"

namespace berth::sim::kube {

// What of an object can be owned through a (sub)resource.
struct FieldScope {
  const ServedKind& served;
  std::string_view subresource{};
};

struct FieldChanges {
  FieldSet added{};
  FieldSet modified{};
  FieldSet removed{};

  bool empty() const { return added.empty() && modified.empty() && removed.empty(); }
};

FieldChanges compare_fields(const FieldScope& scope, const wire::Value& before,
                            const wire::Value& after);

FieldSet fields_of(const FieldScope& scope, const wire::Value& configuration);

// Objects field by field, keyed lists by key, sets by value, everything else replaced. The applied
// order holds; elements of others stay where they stood among their neighbours.
wire::Value merge_fields(const ServedKind& served, const wire::Value& object,
                         const wire::Value& configuration);

// Takes out the fields in `dropped` that are not in `wanted`. A field with others below it stays as
// long as one of those is wanted.
void remove_fields(const ServedKind& served, wire::Value& object, const FieldSet& dropped,
                   const FieldSet& wanted);

// What hinders a configuration from being applied: a field that the schema does not know, or two
// elements with the same key. Empty when there is nothing.
std::vector<std::string> configuration_defects(const ServedKind& served,
                                               const wire::Value& configuration);

}  // namespace berth::sim::kube
