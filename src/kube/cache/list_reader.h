// Cuts the answer to a list request into items as its bytes arrive, in either encoding.
//
// Owned by one task; used for one answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/client/encoding.h"
#include "kube/client/resource.h"
#include "wire/splitters.h"

namespace berth::kube {

// What a list says beside its items.
struct ListEnvelope {
  std::string api_version{};
  std::string kind{};
  ResourceVersion resource_version = 0;
  std::string continue_token{};  // empty: this was the last page
};

// The protobuf form: "k8s\0", then runtime.Unknown{1 typeMeta, 2 raw}, and in `raw` the list{1
// metadata, 2 items...}. Items are messages without envelope; the visitor's view lives during the
// visit and points into the chunk where an item lies in it whole.
class ProtoListSplitter {
 public:
  Result<> feed(std::string_view chunk, wire::MessageVisitor visit_item);
  // Fails when the document is not complete.
  Result<ListEnvelope> finish() const;

 private:
  enum class Place : std::uint8_t { magic, unknown, list };

  // Takes every whole field; says how many bytes they were. `need_` is then what the next one
  // needs.
  Result<std::size_t> take(std::string_view bytes, wire::MessageVisitor visit_item);
  // One field at the start of the bytes: its size, or 0 when more bytes are needed.
  Result<std::size_t> take_field(std::string_view bytes, wire::MessageVisitor visit_item);
  Result<> use(std::uint32_t number, std::string_view value, wire::MessageVisitor visit_item);
  Result<> read_type(std::string_view message);
  Result<> read_metadata(std::string_view message);

  Place place_ = Place::magic;
  std::uint64_t list_left_ = 0;  // bytes of the list that are still to come
  std::size_t need_ = 0;
  std::string partial_;  // the beginning of the field under way
  std::string version_text_;
  bool has_list_ = false;
  ListEnvelope envelope_;
};

class ListReader {
 public:
  explicit ListReader(Encoding encoding) : encoding_(encoding) {}

  Result<> feed(std::string_view chunk, wire::MessageVisitor visit_item);
  Result<ListEnvelope> finish() const;

 private:
  Encoding encoding_;
  wire::JsonItemSplitter json_;
  ProtoListSplitter protobuf_;
};

}  // namespace berth::kube
