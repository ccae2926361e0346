#include "protobuf_message.h"

#include <boost/json.hpp>

namespace berth::parity {
namespace {

using wire::Object;
using wire::Value;

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::string message(const Value& fields);

void append_field(std::string& out, std::uint64_t number, const Value& value) {
  if (value.is_array()) {
    for (const Value& one : value.get_array()) append_field(out, number, one);
    return;
  }
  if (value.is_int64()) {
    append_varint(out, number << 3);
    append_varint(out, static_cast<std::uint64_t>(value.get_int64()));
    return;
  }
  const std::string bytes = value.is_string() ? std::string(value.get_string()) : message(value);
  append_varint(out, number << 3 | 2);
  append_varint(out, bytes.size());
  out += bytes;
}

std::string message(const Value& fields) {
  std::string out;
  for (const auto& field : fields.as_object()) {
    append_field(out, std::stoul(std::string(field.key())), field.value());
  }
  return out;
}

}  // namespace

std::string protobuf_message(const Value& of, const Value& fields) {
  const Value type = Object{{"1", of.as_array().at(0)}, {"2", of.as_array().at(1)}};
  return std::string("k8s\0", 4) + message(Object{{"1", type}, {"2", Value(message(fields))}});
}

}  // namespace berth::parity
