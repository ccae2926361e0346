// The fields of the built-in kinds: one table for the OpenAPI documents and for bodies that come as
// protobuf. Immutable after the first use; any thread.
//
// It holds what our manifests and our users' touch, not every field there is: objects keep what is
// not in it.
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
  bool keeps_zero = false;  // a pointer in Go: zero is not the same as not set
  bool inlined = false;     // the fields of its message stand in its place
};

struct Message {
  std::string name{};  // "apps.DeploymentSpec"
  std::vector<Field> fields{};
};

using FieldTable = std::map<std::string, Message, std::less<>>;
const FieldTable& field_table();

// Null when the table does not know the version.
const Message* message_of(std::string_view group, std::string_view version, std::string_view kind);

}  // namespace berth::sim::kube
