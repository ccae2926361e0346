#include "kube/client/encoding.h"

#include "wire/proto_reader.h"

namespace berth::kube {

Result<TypedBytes> open_protobuf_envelope(std::string_view document) {
  if (!document.starts_with(kProtobufMagic)) {
    return fail(Code::invalid, "a protobuf document does not begin with its four magic bytes");
  }
  TypedBytes out;
  wire::ProtoReader unknown(document.substr(kProtobufMagic.size()));
  bool types_ok = true;
  while (unknown.next()) {
    if (unknown->number == 2) out.object = unknown->bytes;
    if (unknown->number != 1) continue;
    wire::ProtoReader type(unknown->bytes);
    while (type.next()) {
      if (type->number == 1) out.api_version = type->bytes;
      if (type->number == 2) out.kind = type->bytes;
    }
    types_ok = types_ok && type.ok();
  }
  if (!unknown.ok() || !types_ok) {
    return fail(Code::invalid, "the envelope of a protobuf document is malformed");
  }
  return out;
}

}  // namespace berth::kube
