// The metadata that all kinds share: reading it, checking it, and what a write may do to it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "sim/kube/kinds.h"
#include "wire/value.h"

namespace berth::sim::kube {

inline constexpr std::size_t kMaxAnnotationBytes = 256u << 10;

// What Go's decoder calls the type of a JSON value.
std::string_view go_type(const wire::Value& value);

std::string_view name_of(const wire::Value& object);
std::string_view namespace_of(const wire::Value& object);
std::string_view version_of(const wire::Value& object);
bool is_deleting(const wire::Value& object);
std::vector<std::string> finalizers_of(const wire::Value& object);
// The object must have passed `normalize_metadata`.
wire::Object& metadata_of(wire::Value& object);

// What decoding into Go's ObjectMeta does: checks types, drops what is empty or null. Unknown
// fields are dropped too and reported as "metadata.x".
Outcome<> normalize_metadata(const Kind& kind, wire::Value& object,
                             std::vector<std::string>& unknown);

// Name rules; empty when the name is fine. A prefix may end in what a random suffix continues.
std::vector<std::string> name_defects(NameRule rule, std::string_view name, bool prefix);
std::vector<std::string> qualified_name_defects(std::string_view name);
std::vector<std::string> label_value_defects(std::string_view value);

Causes validate_metadata(const Kind& kind, const wire::Value& object);
Causes validate_metadata_update(const wire::Value& object, const wire::Value& old);

// Name from generateName, uid, creation time, first generation.
void fill_new_metadata(const Kind& kind, wire::Value& object, WallTime now, Random& random);
// The fields that no client may change come from the old object.
void keep_system_metadata(wire::Value& object, const wire::Value& old);

std::string random_uid(Random& random);
std::string random_suffix(Random& random);

}  // namespace berth::sim::kube
