#include "wire/proto_reader.h"

namespace berth::wire {
namespace {

constexpr std::uint64_t kMaxFieldNumber = (1u << 29) - 1;

}  // namespace

bool ProtoReader::next() {
  if (rest_.empty()) return false;
  std::uint64_t tag = 0;
  if (!varint(tag)) return false;
  const std::uint64_t number = tag >> 3;
  if (number == 0 || number > kMaxFieldNumber) return fail_here();
  field_ = {.number = static_cast<std::uint32_t>(number),
            .type = static_cast<std::uint32_t>(tag & 7)};
  switch (field_.type) {
    case 0: return varint(field_.scalar);
    case 1: return fixed(8, field_.scalar);
    case 2: {
      std::uint64_t length = 0;
      return varint(length) && skip_bytes(length, field_.bytes);
    }
    case 5: return fixed(4, field_.scalar);
    default: return fail_here();  // groups: Kubernetes has none
  }
}

bool ProtoReader::varint(std::uint64_t& out) {
  out = 0;
  for (std::size_t i = 0; i < rest_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    if (i == 9 && byte > 1) return fail_here();  // beyond 64 bits
    out |= std::uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      return true;
    }
  }
  return fail_here();
}

bool ProtoReader::fixed(std::size_t width, std::uint64_t& out) {
  std::string_view bytes;
  if (!skip_bytes(width, bytes)) return false;
  out = 0;
  for (std::size_t i = width; i-- > 0;) out = out << 8 | static_cast<unsigned char>(bytes[i]);
  return true;
}

bool ProtoReader::skip_bytes(std::uint64_t length, std::string_view& out) {
  if (length > rest_.size()) return fail_here();
  out = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return true;
}

}  // namespace berth::wire
