// Our finalizer on an object: whether it is there, and the JSON Patch that puts it on or takes it
// off. Pure.
#pragma once

#include "kube/cache/object_meta.h"
#include "wire/value.h"

namespace berth::claims {

bool has_our_finalizer(const kube::ObjectMeta& meta);
// Only while the object is the one that we know, with the finalizers that we know.
wire::Array finalizer_patch(const kube::ObjectMeta& meta, bool with_ours);

}  // namespace berth::claims
