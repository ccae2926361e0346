// How an object of a kind is read, for any kind with a table: `meta`, `spec` and, if it has one,
// `status`.
#pragma once

#include "api/kind.h"
#include "api/walkers.h"
#include "kube/cache/projection.h"

namespace berth::api {

template <class T>
Result<T> decode_text(wire::JsonReader& reader, std::string_view text, const KindInfo& kind) {
  // Listeners carry their claim in an annotation, and finalizers decide about deletion.
  static const kube::MetaRules kOurMeta{.annotations = kube::KeyFilter::everything(),
                                        .finalizers = true};
  T object;
  Result<> read = kube::decode_object(reader, text, kind.type, kOurMeta, object.meta,
                                      [&](std::string_view key, wire::JsonNode value) {
                                        if (key == "spec") decode(object.spec, value);
                                        if constexpr (requires { object.status; })
                                          if (key == "status") decode(object.status, value);
                                      });
  if (!read) return pass(read);
  if constexpr (requires { normalise(object.spec); }) normalise(object.spec);
  return object;
}

// The same as a function that knows its kind, for kube::Typed.
template <class T, const KindInfo& (*kKind)()>
Result<T> read_text(wire::JsonReader& reader, std::string_view text) {
  return decode_text<T>(reader, text, kKind());
}

// The kind outlives it.
template <class T>
kube::Projection<T> projection_of(const KindInfo& kind) {
  return {.type = kind.type, .from_json = [&kind](wire::JsonReader& reader, std::string_view text) {
            return decode_text<T>(reader, text, kind);
          }};
}

template <class T>
Result<T> decode_value(const wire::Value& object, const KindInfo& kind) {
  wire::JsonReader reader;
  return decode_text<T>(reader, wire::to_json(object), kind);
}

}  // namespace berth::api
