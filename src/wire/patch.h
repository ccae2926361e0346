// JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386) over Value. Pure functions.
#pragma once

#include "wire/value.h"

namespace berth::wire {

// kube-apiserver refuses longer ones.
inline constexpr std::size_t kMaxPatchOperations = 10'000;

// All operations or none. A failed `test` is Code::precondition; any other defect Code::invalid,
// and the error names the operation ("op 2 (replace /spec/x): ..."). As in kube-apiserver, a `test`
// for null holds when the field is missing: that is how to test that a field is not set.
Result<Value> apply_json_patch(Value document, const Value& patch);

// Operations that turn `from` into `to`. Arrays of different length are replaced whole; so is the
// document when the operations would be more than kMaxPatchOperations.
Array diff_json_patch(const Value& from, const Value& to);

Value apply_merge_patch(Value document, const Value& patch);
// The smallest merge patch that turns `from` into `to`. (A null inside `to` cannot be expressed and
// is dropped.)
Value diff_merge_patch(const Value& from, const Value& to);

}  // namespace berth::wire
