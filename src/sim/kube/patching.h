// From a patch and the object as it is to the object as it shall be. Server-side apply, which needs
// to know who owns what, is in `managed_fields.h`. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/kube/kinds.h"
#include "wire/value.h"

namespace berth::sim::kube {

enum class PatchType : std::uint8_t { json, merge, strategic, apply };

// By content type. Custom kinds have no strategic merge patches.
Outcome<PatchType> patch_type_of(std::string_view content_type, const Kind& kind);

Outcome<wire::Value> decode_patch(PatchType type, std::string_view body);

// Not for PatchType::apply.
Outcome<wire::Value> apply_patch(PatchType type, const wire::Value& patch, wire::Value object,
                                 const ServedKind& served);

}  // namespace berth::sim::kube
