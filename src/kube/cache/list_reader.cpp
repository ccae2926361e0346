#include "kube/cache/list_reader.h"

#include <algorithm>
#include <optional>

#include "wire/proto_reader.h"
#include "wire/value.h"

namespace berth::kube {
namespace {

// Field numbers of runtime.Unknown, of every list, and of their parts.
constexpr std::uint32_t kUnknownType = 1;
constexpr std::uint32_t kUnknownRaw = 2;
constexpr std::uint32_t kListMetadata = 1;
constexpr std::uint32_t kListItem = 2;

constexpr std::uint32_t kWireVarint = 0;
constexpr std::uint32_t kWireFixed64 = 1;
constexpr std::uint32_t kWireBytes = 2;
constexpr std::uint32_t kWireFixed32 = 5;

Failure malformed(std::string_view what) {
  return fail(Code::invalid, "a list in protobuf is malformed: {}", what);
}

// A number at the start of the bytes, which it is taken from. False: more bytes are needed.
Result<bool> take_varint(std::string_view& bytes, std::uint64_t& out) {
  out = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 10) break;
    const auto byte = static_cast<unsigned char>(bytes[i]);
    out |= std::uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  if (bytes.size() >= 10) return malformed("a number has more than ten bytes");
  return false;
}

// What stands before the value of a field.
struct FieldHeader {
  std::uint32_t number = 0;
  std::uint32_t type = 0;
  std::uint64_t length = 0;  // of the value; a varint counts as part of the header
  std::size_t size = 0;
};

Result<std::optional<FieldHeader>> read_header(std::string_view bytes) {
  std::string_view rest = bytes;
  std::uint64_t tag = 0;
  auto has_tag = take_varint(rest, tag);
  if (!has_tag) return pass(has_tag);
  if (!*has_tag) return std::nullopt;
  if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX) return malformed("a field has no valid number");
  FieldHeader header{.number = static_cast<std::uint32_t>(tag >> 3),
                     .type = static_cast<std::uint32_t>(tag & 7u)};
  switch (header.type) {
    case kWireFixed64: header.length = 8; break;
    case kWireFixed32: header.length = 4; break;
    case kWireVarint:
    case kWireBytes: {
      auto has_value = take_varint(rest, header.length);
      if (!has_value) return pass(has_value);
      if (!*has_value) return std::nullopt;
      if (header.type == kWireVarint) header.length = 0;
      break;
    }
    default: return malformed("a field has a type that does not exist");
  }
  header.size = bytes.size() - rest.size();
  return header;
}

Result<ListEnvelope> envelope_of_json(std::string_view text) {
  auto document = wire::parse_json(text);
  if (!document) return pass(document);
  auto version = parse_resource_version(wire::string_at(*document, "/metadata/resourceVersion"));
  if (!version) return pass(version);
  return ListEnvelope{
      .api_version = std::string(wire::string_at(*document, "/apiVersion")),
      .kind = std::string(wire::string_at(*document, "/kind")),
      .resource_version = *version,
      .continue_token = std::string(wire::string_at(*document, "/metadata/continue"))};
}

}  // namespace

Result<> ProtoListSplitter::feed(std::string_view chunk, wire::MessageVisitor visit_item) {
  while (!partial_.empty()) {
    const std::size_t more = std::min(need_ - partial_.size(), chunk.size());
    partial_.append(chunk.substr(0, more));
    chunk.remove_prefix(more);
    if (partial_.size() < need_) return {};
    auto used = take(partial_, visit_item);
    if (!used) return pass(used);
    partial_.erase(0, *used);
  }
  auto used = take(chunk, visit_item);
  if (!used) return pass(used);
  partial_ = chunk.substr(*used);
  return {};
}

Result<std::size_t> ProtoListSplitter::take(std::string_view bytes,
                                            wire::MessageVisitor visit_item) {
  std::size_t used = 0;
  for (;;) {
    if (place_ == Place::list && list_left_ == 0) place_ = Place::unknown;
    auto field = take_field(bytes.substr(used), visit_item);
    if (!field) return field;
    if (*field == 0) return used;
    used += *field;
  }
}

Result<std::size_t> ProtoListSplitter::take_field(std::string_view bytes,
                                                  wire::MessageVisitor visit_item) {
  if (place_ == Place::magic) {
    need_ = kProtobufMagic.size();
    if (bytes.size() < need_) return 0;
    if (!bytes.starts_with(kProtobufMagic)) return malformed("the magic bytes are missing");
    place_ = Place::unknown;
    return need_;
  }

  need_ = bytes.size() + 1;
  auto header = read_header(bytes);
  if (!header) return pass(header);
  if (!*header) return 0;
  const FieldHeader& field = **header;
  if (place_ == Place::unknown && field.number == kUnknownRaw && field.type == kWireBytes) {
    if (has_list_) return malformed("it has two bodies");
    has_list_ = true;
    place_ = Place::list;
    list_left_ = field.length;
    return field.size;
  }
  if (field.length > wire::kMaxMessageBytes) {
    return fail(Code::exhausted, "an item of a list has {} bytes, at most {} are taken",
                field.length, wire::kMaxMessageBytes);
  }
  const std::size_t size = field.size + static_cast<std::size_t>(field.length);
  if (place_ == Place::list && size > list_left_) return malformed("a field ends behind the list");
  need_ = size;
  if (bytes.size() < size) return 0;
  if (place_ == Place::list) list_left_ -= size;
  if (field.type == kWireBytes) {
    auto used = use(field.number, bytes.substr(field.size, size - field.size), visit_item);
    if (!used) return pass(used);
  }
  return size;
}

Result<> ProtoListSplitter::use(std::uint32_t number, std::string_view value,
                                wire::MessageVisitor visit_item) {
  if (place_ == Place::unknown) return number == kUnknownType ? read_type(value) : Result<>{};
  if (number == kListItem) return visit_item(value);
  return number == kListMetadata ? read_metadata(value) : Result<>{};
}

Result<> ProtoListSplitter::read_type(std::string_view message) {
  wire::ProtoReader in(message);
  while (in.next()) {
    if (in->number == 1) envelope_.api_version = in->bytes;
    if (in->number == 2) envelope_.kind = in->bytes;
  }
  if (!in.ok()) return malformed("its type");
  return {};
}

Result<> ProtoListSplitter::read_metadata(std::string_view message) {
  wire::ProtoReader in(message);
  while (in.next()) {
    if (in->number == 2) version_text_ = in->bytes;
    if (in->number == 3) envelope_.continue_token = in->bytes;
  }
  if (!in.ok()) return malformed("its metadata");
  return {};
}

Result<ListEnvelope> ProtoListSplitter::finish() const {
  if (place_ != Place::unknown && !(place_ == Place::list && list_left_ == 0))
    return fail(Code::unavailable, "a list in protobuf ended before it was complete");
  if (!partial_.empty() || !has_list_)
    return fail(Code::unavailable, "a list in protobuf ended before it was complete");
  auto version = parse_resource_version(version_text_);
  if (!version) return pass(version);
  ListEnvelope envelope = envelope_;
  envelope.resource_version = *version;
  return envelope;
}

Result<> ListReader::feed(std::string_view chunk, wire::MessageVisitor visit_item) {
  return encoding_ == Encoding::json ? json_.feed(chunk, visit_item)
                                     : protobuf_.feed(chunk, visit_item);
}

Result<ListEnvelope> ListReader::finish() const {
  if (encoding_ == Encoding::protobuf) return protobuf_.finish();
  auto text = json_.finish();
  if (!text) return pass(text);
  return envelope_of_json(*text);
}

}  // namespace berth::kube
