// Projection<T>: how objects of one kind are fetched and decoded into the few fields that we keep.
//
// A value, made by the folder that owns the kind and handed to an Informer. The helpers below do
// the part that all kinds have in common: metadata and the check of the type. Decoders fill a fresh
// struct and return it only when the whole object was sound. Called by one task at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/cache/object_meta.h"
#include "kube/client/encoding.h"
#include "kube/client/resource.h"
#include "wire/json_reader.h"
#include "wire/proto_reader.h"

namespace berth::kube {

// Which objects of a kind: empty parts do not restrict.
struct Selection {
  std::string ns{};
  std::string label_selector{};
  std::string field_selector{};
};

// Which keys of a label or annotation map are kept.
struct KeyFilter {
  bool all = false;
  std::vector<std::string> prefixes{};

  static KeyFilter everything() { return {.all = true}; }
  static KeyFilter only(std::vector<std::string> prefixes) {
    return {.prefixes = std::move(prefixes)};
  }
  bool keeps(std::string_view key) const;
};

// What of the metadata is kept. Annotations and finalizers are often long and rarely read.
struct MetaRules {
  KeyFilter labels = KeyFilter::everything();
  KeyFilter annotations{};
  bool finalizers = false;
  bool owners = true;
};

template <class T>
struct Projection {
  ResourceType type;
  Selection selection{};
  std::function<Result<T>(wire::JsonReader& reader, std::string_view text)> from_json;
  // Of a message without envelope. Empty: the server is asked for JSON, as for custom kinds.
  std::function<Result<T>(std::string_view message)> from_protobuf{};
};

// A projection out of two functions that take the rules.
template <class T>
Projection<T> make_projection(const ResourceType& type, MetaRules rules, Selection selection,
                              Result<T> (*json)(const MetaRules&, wire::JsonReader&,
                                                std::string_view),
                              Result<T> (*protobuf)(const MetaRules&, std::string_view)) {
  return {.type = type,
          .selection = std::move(selection),
          .from_json = [rules, json](wire::JsonReader& reader,
                                     std::string_view text) { return json(rules, reader, text); },
          .from_protobuf =
              [rules, protobuf](std::string_view message) { return protobuf(rules, message); }};
}

// Reads an object's text: metadata into `meta`, every other field is shown to `rest`. Fails when
// the object says that it is of another kind, or has no name or version.
Result<> decode_object(wire::JsonReader& reader, std::string_view text, const ResourceType& type,
                       const MetaRules& rules, ObjectMeta& meta,
                       wire::FunctionRef<void(std::string_view key, wire::JsonNode value)> rest);
// The same for a message. `rest` says whether what it was shown is sound.
Result<> decode_object(std::string_view message, const ResourceType& type, const MetaRules& rules,
                       ObjectMeta& meta,
                       wire::FunctionRef<bool(const wire::ProtoField& field)> rest);

// Shows every field of a message. False: it is malformed, or the visitor said so.
template <class Visit>
bool for_each_field(std::string_view message, Visit&& visit) {
  wire::ProtoReader in(message);
  while (in.next()) {
    if (!visit(*in)) return false;
  }
  return in.ok();
}
// A map<string, string> entry, or a map of bytes.
bool decode_map_entry(std::string_view message, std::string_view& key, std::string_view& value);
// Sorted, each key once (the last counts), no spare room.
void tidy(StringMap& map);

// Who an object is, as far as it can be told: for objects that do not decode. Empty parts are not
// known.
struct ObjectIdentity {
  ObjectKey key{};
  std::string uid{};
  ResourceVersion resource_version = 0;
};
ObjectIdentity identify(Encoding encoding, wire::JsonReader& reader, std::string_view object);

}  // namespace berth::kube
