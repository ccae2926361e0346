// Lines do not depend on how the stream is cut, and hold no line breaks.
#include "check.h"
#include "wire/splitters.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::as_text(data + 1, size - 1);
  wire::LineSplitter whole, chunked;
  const auto expected = fuzz::feed_whole(whole, bytes);
  const auto actual = fuzz::feed_in_chunks(chunked, bytes, data[0]);
  fuzz::check(expected.ok && actual.ok, "short lines are taken");
  fuzz::check(expected.messages == actual.messages, "lines do not depend on chunks");
  fuzz::check(whole.finish().has_value() == chunked.finish().has_value(), "nor does the end");
  for (const auto& line : actual.messages) {
    fuzz::check(!line.empty() && line.find('\n') == line.npos, "a line is a line");
  }
  return 0;
}
