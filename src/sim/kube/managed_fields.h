// Who owns which field: `metadata.managedFields`, kept with every write, and server-side apply,
// which goes by it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "sim/kube/kinds.h"
#include "wire/value.h"

namespace berth::sim::kube {

inline constexpr std::size_t kMaxManagerBytes = 128;

// Who writes, through which (sub)resource, and when.
struct FieldWriter {
  const ServedKind& served;
  std::string manager{};
  std::string_view subresource{};
  WallTime now{};
};

// The name given in the request, else the first part of the client's User-Agent.
std::string manager_name(std::string_view field_manager, std::string_view user_agent);

// After a create, update or patch: what `next` has and `live` (null: nothing) had not, is owned by
// the writer alone. An object without owners gets none before the first apply.
void track_update(const wire::Value* live, wire::Value& next, const FieldWriter& writer);

// The object with the configuration applied (null: there was none), or a refusal that names the
// fields that others own.
Outcome<wire::Value> apply_configuration(const wire::Value* live, const wire::Value& configuration,
                                         const FieldWriter& writer, bool force);

}  // namespace berth::sim::kube
