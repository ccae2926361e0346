// A watch stream of any bytes, in either encoding: events and errors, never more. The first byte
// chooses the encoding.
#include "check.h"
#include "kept_text.h"
#include "kube/cache/projection.h"
#include "kube/cache/watch_event.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  if (size == 0) return 0;
  static wire::JsonReader reader;
  static wire::JsonReader object_reader;
  const kube::Encoding encoding =
      data[0] % 2 == 0 ? kube::Encoding::json : kube::Encoding::protobuf;
  kube::WatchSplitter splitter(encoding);
  const fuzz::Fed fed = fuzz::feed_in_chunks(splitter, fuzz::as_text(data + 1, size - 1),
                                             static_cast<std::uint32_t>(size));
  for (const std::string& message : fed.messages) {
    const auto event = kube::decode_watch_event(encoding, reader, message);
    if (!event) continue;
    (void)kube::identify(encoding, object_reader, event->object);
    fuzz::check(!kube::error_of_event(encoding, *event).message.empty(), "errors say something");
  }
  return 0;
}
