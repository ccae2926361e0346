// From the bytes of a request to an object that can be stored: what the real server's decoders do.
// Pure.
#pragma once

#include <string_view>

#include "sim/kube/admission.h"
#include "sim/kube/kinds.h"
#include "wire/value.h"

namespace berth::sim::kube {

// What becomes of fields that the schema does not know (`fieldValidation`). Built-in kinds have no
// schema here and keep every field.
enum class UnknownFields : std::uint8_t { ignore, warn, refuse };
UnknownFields unknown_fields_of(std::string_view parameter);

// JSON, YAML or protobuf, by content type.
Outcome<wire::Value> decode_body(std::string_view body, std::string_view content_type,
                                 const ServedKind& served);

// What is sent beside objects of a kind: DeleteOptions, a Binding. JSON or protobuf.
Outcome<wire::Value> decode_document(std::string_view body, std::string_view content_type);

// Metadata in order, unknown fields away, defaults set. `patched` decides how a strict refusal is
// worded.
Outcome<> settle(wire::Value& object, const ServedKind& served, UnknownFields unknown_fields,
                 bool patched, Warnings& warnings);

// New finalizers of custom objects whose names others might use too.
void warn_about_finalizers(const Kind& kind, const wire::Value& object, const wire::Value* old,
                           Warnings& warnings);

}  // namespace berth::sim::kube
