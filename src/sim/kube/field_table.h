// The fields of the built-in kinds: one table for the OpenAPI documents and for bodies that come as
// protobuf. Immutable after the first use; any thread.
//
// Volumes of old clouds and the schemas of definitions are opaque: objects keep them, but they can
// only be sent as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kube/kinds.h"

namespace berth::sim::kube {

enum class FieldType : std::uint8_t {
  text,
  integer,
  boolean,
  time,
  micro_time,
  bytes,
  quantity,
  int_or_string,
  json,    // any document: bytes of JSON in protobuf
  opaque,  // an object that nobody looks into
  message,
};

struct Message;

struct Field {
  std::string name{};
  std::uint32_t number = 0;  // in protobuf
  FieldType type = FieldType::text;
  const Message* message = nullptr;  // of FieldType::message
  bool list = false;
  bool map = false;  // from text
  bool required = false;
  bool keeps_zero = false;  // zero is not the same as not set
  bool inlined = false;     // the fields of its message stand in its place
};

struct Message {
  std::string name{};  // "apps.DeploymentSpec"
  std::vector<Field> fields{};
};

// "@package", then messages: a name and its fields, each as name[!][?][:type]=number.
//   !     required: Go writes it always    ?     zero counts as set: a pointer in Go
//   []T   a list of T                      {}T   a map from text to T
//   *     the fields of the message stand in its place
// Types: text when left out or s, i integer, b boolean, t Time, u MicroTime, y bytes, q Quantity,
// x IntOrString, r any JSON, o an object that is not described; else a message of this package or
// "package.T".
extern const std::string_view kBuiltinFields;

using FieldTable = std::map<std::string, Message, std::less<>>;
const FieldTable& field_table();

// Null when the table does not know the version.
const Message* message_of(std::string_view group, std::string_view version, std::string_view kind);

}  // namespace berth::sim::kube
