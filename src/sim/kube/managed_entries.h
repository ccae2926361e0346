// The entries of `metadata.managedFields`, and the two forms of their list. Clients see a JSON
// array. A stored object carries the array's text as one string, so that copying and writing an
// object stays cheap, and nobody parses what nobody asks for. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kube/field_set.h"
#include "wire/value.h"

namespace berth::sim::kube {

struct ManagedEntry {
  // Texts are escaped as they stand in the JSON.
  std::string manager{};
  bool applied = false;
  std::string api_version{};
  std::string time{};
  std::string fields{};  // the text of a FieldSet
  std::string subresource{};

  FieldSet set() const { return FieldSet::parse(fields).value_or(FieldSet{}); }
  // Applied configurations keep their entry when the version of the kind changes.
  bool is_of(const ManagedEntry& other) const {
    return manager == other.manager && applied == other.applied &&
           subresource == other.subresource && (applied || api_version == other.api_version);
  }
  friend bool operator==(const ManagedEntry&, const ManagedEntry&) = default;
};
using ManagedEntries = std::vector<ManagedEntry>;

// Of an object in its stored form; null when nobody owns anything.
const wire::Value* managed_list(const wire::Value* object);
// From either form. Nothing when it is no such list.
std::optional<ManagedEntries> decode_entries(const wire::Value& list);
// Sorted as the real server does, in the stored form.
void store_entries(wire::Value& object, ManagedEntries entries);

// The object and its metadata as clients see them.
wire::Value shown_object(const wire::Value& object);
void append_metadata(std::string& out, const wire::Value& metadata);

// Gives `object` the list of `from`, for the sake of those who must not change it.
void keep_managed_fields(wire::Value& object, const wire::Value& from);
// Takes over the times of `old` if nothing else in the two lists differs.
void keep_old_times(wire::Value& object, const wire::Value& old);

}  // namespace berth::sim::kube
