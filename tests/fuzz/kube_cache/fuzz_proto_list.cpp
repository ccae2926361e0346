// A list in protobuf gives the same items and the same end whether it arrives whole or in pieces.
#include "check.h"
#include "kube/cache/list_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view bytes = fuzz::as_text(data, size);
  kube::ProtoListSplitter whole;
  kube::ProtoListSplitter pieces;
  const fuzz::Fed at_once = fuzz::feed_whole(whole, bytes);
  const fuzz::Fed cut = fuzz::feed_in_chunks(pieces, bytes, static_cast<std::uint32_t>(size));
  fuzz::check(at_once.ok == cut.ok, "both succeed or both fail");
  fuzz::check(at_once.messages == cut.messages, "the items are the same");
  if (!at_once.ok) return 0;
  const auto one = whole.finish();
  const auto other = pieces.finish();
  fuzz::check(one.has_value() == other.has_value(), "both are complete or none is");
  if (!one) return 0;
  fuzz::check(one->kind == other->kind && one->continue_token == other->continue_token &&
                  one->resource_version == other->resource_version,
              "the envelopes are the same");
  return 0;
}
