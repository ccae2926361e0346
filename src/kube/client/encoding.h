// The two encodings in which the API server sends objects, and the envelope that protobuf has.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace berth::kube {

enum class Encoding : std::uint8_t { json, protobuf };

// Of the response that has this Content-Type.
inline Encoding encoding_of(std::string_view content_type) {
  return content_type.starts_with("application/vnd.kubernetes.protobuf") ? Encoding::protobuf
                                                                         : Encoding::json;
}

// Begins every protobuf document, before a runtime.Unknown that names the type and holds the
// object.
inline constexpr std::string_view kProtobufMagic{"k8s\0", 4};

struct TypedBytes {
  std::string_view api_version{};
  std::string_view kind{};
  std::string_view object{};  // a message without envelope
};
Result<TypedBytes> open_protobuf_envelope(std::string_view document);

}  // namespace berth::kube
