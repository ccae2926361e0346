// From a patch and the object as it is to the object as it shall be. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/kube/kinds.h"
#include "wire/value.h"

namespace berth::sim::kube {

enum class PatchType : std::uint8_t { json, merge, apply };

// By content type; strategic merge patches are not served.
Outcome<PatchType> patch_type_of(std::string_view content_type);

Outcome<wire::Value> decode_patch(PatchType type, std::string_view body);

Outcome<wire::Value> apply_patch(PatchType type, const wire::Value& patch,
                                 const wire::Value& object, const ServedKind& served);

}  // namespace berth::sim::kube
