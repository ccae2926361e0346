// The decisions of a write that need no state: what an update may change, and whether the result is
// valid. Pure.
#pragma once

#include <string>
#include <string_view>

#include "sim/kube/kinds.h"
#include "sim/kube/request_info.h"
#include "wire/value.h"

namespace berth::sim::kube {

// The parameters of a create, an update or a patch: dryRun, fieldManager, fieldValidation, force.
Outcome<> check_write_options(const RequestInfo& info, bool applying);
// `dryRun` of any options: a list with nothing but "All".
void check_dry_run(const wire::Value& options, Causes& causes);

// The object must carry the name and namespace of the URL; an empty one takes them.
Outcome<> check_address(wire::Value& object, std::string_view ns, std::string_view name);

// After a client's change to one of them, the parts that it cannot change through this
// (sub)resource are as in `old`, and the generation counts.
void prepare_update(const ServedKind& served, std::string_view subresource, wire::Value& object,
                    const wire::Value& old);

// Metadata, schema or built-in rules. `old` is null at creation.
Outcome<> validate_object(const ServedKind& served, std::string_view subresource,
                          const wire::Value& object, const wire::Value* old);

// Nothing keeps the object any more: it is being deleted, its grace is over and no finalizer is
// left.
bool may_vanish(const wire::Value& object);

}  // namespace berth::sim::kube
