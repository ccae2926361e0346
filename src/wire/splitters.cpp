#include "wire/splitters.h"

#include <algorithm>

namespace berth::wire {
namespace {

constexpr std::size_t kLengthBytes = 4;

Failure too_large() {
  return fail(Code::exhausted, "a message of the stream is larger than {} bytes", kMaxMessageBytes);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::size_t big_endian(std::string_view bytes) {
  std::size_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

}  // namespace

Result<> LineSplitter::feed(std::string_view chunk, MessageVisitor visit) {
  while (!chunk.empty()) {
    const std::size_t end = chunk.find('\n');
    const std::string_view part = chunk.substr(0, end);
    if (partial_.size() + part.size() > kMaxMessageBytes) return too_large();
    if (end == std::string_view::npos) {
      partial_ += part;
      return {};
    }
    chunk.remove_prefix(end + 1);
    std::string_view line = part;
    if (!partial_.empty()) line = partial_ += part;
    if (!is_blank(line)) {
      if (auto visited = visit(line); !visited) return visited;
    }
    partial_.clear();
  }
  return {};
}

Result<> LineSplitter::finish() const {
  if (is_blank(partial_)) return {};
  return fail(Code::unavailable, "the stream ended inside a line, {} bytes into it",
              partial_.size());
}

Result<> LengthSplitter::feed(std::string_view chunk, MessageVisitor visit) {
  // Moves bytes to `partial_` until it has `size`; false when the chunk runs out before.
  const auto collect = [&](std::size_t size) {
    const std::size_t missing = size - std::min(size, partial_.size());
    partial_ += chunk.substr(0, missing);
    chunk.remove_prefix(std::min(missing, chunk.size()));
    return partial_.size() >= size;
  };
  while (!chunk.empty()) {
    const bool whole = partial_.empty() && chunk.size() >= kLengthBytes;
    if (!whole && !collect(kLengthBytes)) return {};
    const std::string_view head = whole ? chunk : partial_;
    const std::size_t length = big_endian(head.substr(0, kLengthBytes));
    if (length > kMaxMessageBytes) return too_large();
    const std::size_t size = kLengthBytes + length;
    std::string_view frame;
    if (whole && chunk.size() >= size) {
      frame = chunk.substr(0, size);
      chunk.remove_prefix(size);
    } else if (collect(size)) {
      frame = partial_;
    } else {
      return {};
    }
    if (auto visited = visit(frame.substr(kLengthBytes)); !visited) return visited;
    partial_.clear();
  }
  return {};
}

Result<> LengthSplitter::finish() const {
  if (partial_.empty()) return {};
  return fail(Code::unavailable, "the stream ended inside a message, {} bytes into it",
              partial_.size());
}

}  // namespace berth::wire
