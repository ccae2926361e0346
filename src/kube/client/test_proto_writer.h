// For tests, fuzzing and benches: writes protobuf in the shapes that the API server sends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/client/encoding.h"

namespace berth::kube {

inline std::string proto_varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  return out += static_cast<char>(value);
}

inline std::string proto_number(std::uint32_t field, std::uint64_t value) {
  return proto_varint(std::uint64_t{field} << 3) + proto_varint(value);
}

inline std::string proto_bytes(std::uint32_t field, std::string_view value) {
  return proto_varint(std::uint64_t{field} << 3 | 2) + proto_varint(value.size()) +
         std::string(value);
}

inline std::string proto_entry(std::uint32_t field, std::string_view key, std::string_view value) {
  return proto_bytes(field, proto_bytes(1, key) + proto_bytes(2, value));
}

// Content encoding and type of a runtime.Unknown, both empty, as Go writes them.
inline std::string proto_trailer() { return proto_bytes(3, "") + proto_bytes(4, ""); }

inline std::string proto_document(std::string_view kind, std::string_view object) {
  return std::string(kProtobufMagic) + proto_bytes(1, proto_bytes(1, "v1") + proto_bytes(2, kind)) +
         proto_bytes(2, object) + proto_trailer();
}

inline std::string proto_list(std::string_view kind, std::string_view version,
                              std::string_view continue_token,
                              const std::vector<std::string>& items) {
  std::string list =
      proto_bytes(1, proto_bytes(1, "") + proto_bytes(2, version) + proto_bytes(3, continue_token));
  for (const std::string& item : items) list += proto_bytes(2, item);
  return proto_document(kind, list);
}

// One frame of a watch stream.
inline std::string proto_frame(std::string_view type, std::string_view kind,
                               std::string_view object) {
  const std::string event =
      proto_bytes(1, type) + proto_bytes(2, proto_bytes(1, proto_document(kind, object)));
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) {
    out += static_cast<char>(event.size() >> shift & 0xff);
  }
  return out + event;
}

}  // namespace berth::kube
