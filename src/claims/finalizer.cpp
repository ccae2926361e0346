#include "claims/finalizer.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/keys.h"

namespace berth::claims {

using wire::Array;
using wire::Object;
using wire::Value;

bool has_our_finalizer(const kube::ObjectMeta& meta) {
  return std::ranges::find(meta.finalizers, api::kFinalizer, &kube::Interned::view) !=
         meta.finalizers.end();
}

Array finalizer_patch(const kube::ObjectMeta& meta, bool with_ours) {
  Array before;
  Array after;
  for (const kube::Interned& finalizer : meta.finalizers) {
    before.emplace_back(finalizer.view());
    if (finalizer != api::kFinalizer) after.emplace_back(finalizer.view());
  }
  if (with_ours) after.emplace_back(api::kFinalizer);
  // Missing and null are the same to the server's `test`.
  const Value known = before.empty() ? Value(nullptr) : Value(before);
  return {Object{{"op", "test"}, {"path", "/metadata/uid"}, {"value", meta.uid}},
          Object{{"op", "test"}, {"path", "/metadata/finalizers"}, {"value", known}},
          Object{{"op", "add"}, {"path", "/metadata/finalizers"}, {"value", after}}};
}

}  // namespace berth::claims
