// Frames do not depend on how the stream is cut, and add up to the stream.
#include "check.h"
#include "wire/splitters.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::as_text(data + 1, size - 1);
  wire::LengthSplitter whole, chunked;
  const auto expected = fuzz::feed_whole(whole, bytes);
  const auto actual = fuzz::feed_in_chunks(chunked, bytes, data[0]);
  fuzz::check(expected.ok == actual.ok, "the outcome does not depend on chunks");
  fuzz::check(expected.messages == actual.messages, "frames do not depend on chunks");
  if (!actual.ok) return 0;
  const bool complete = whole.finish().has_value();
  fuzz::check(complete == chunked.finish().has_value(), "the end does not depend on chunks");
  std::size_t total = 0;
  for (const auto& frame : actual.messages) total += 4 + frame.size();
  fuzz::check(complete ? total == bytes.size() : total < bytes.size(), "frames add up");
  return 0;
}
