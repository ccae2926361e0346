// A reader of protobuf's wire format by field number; no generated classes. Views point into the
// input.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace berth::wire {

struct ProtoField {
  std::uint32_t number = 0;
  std::uint32_t type = 0;    // 0 varint, 1 fixed64, 2 bytes, 5 fixed32
  std::uint64_t scalar = 0;  // types 0, 1 and 5
  std::string_view bytes{};  // type 2
};

// `for (ProtoReader in(bytes); in.next();) switch (in->number) ...; then check in.ok()`
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : rest_(bytes) {}
  bool next();
  const ProtoField& operator*() const { return field_; }
  const ProtoField* operator->() const { return &field_; }
  // False after the input turned out to be malformed or truncated.
  bool ok() const { return ok_; }

 private:
  bool varint(std::uint64_t& out);
  bool fixed(std::size_t width, std::uint64_t& out);
  bool skip_bytes(std::uint64_t length, std::string_view& out);
  bool fail_here() {
    ok_ = false;
    rest_ = {};
    return false;
  }

  std::string_view rest_;
  ProtoField field_{};
  bool ok_ = true;
};

}  // namespace berth::wire
