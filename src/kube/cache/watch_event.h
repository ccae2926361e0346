// The events of a watch stream: framing and envelope, in either encoding. The object inside is left
// to whoever keeps it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "kube/client/encoding.h"
#include "kube/client/resource.h"
#include "wire/json_reader.h"
#include "wire/splitters.h"

namespace berth::kube {

enum class EventType : std::uint8_t { added, modified, deleted, bookmark, error };

struct WatchEvent {
  EventType type = EventType::added;
  // Named by the envelope in protobuf; empty in JSON, where the object itself says it.
  std::string_view api_version{};
  std::string_view kind{};
  // A message without envelope, or the text of an object. Lives as long as the message, and in JSON
  // until the reader is used again.
  std::string_view object{};
};

// A type that does not exist is `unsupported`; anything else wrong is `invalid`.
Result<WatchEvent> decode_watch_event(Encoding encoding, wire::JsonReader& reader,
                                      std::string_view message);

// The error that an event of type `error` carries.
Error error_of_event(Encoding encoding, const WatchEvent& event);

// Cuts a watch stream into messages. Owned by one task; used for one stream.
class WatchSplitter {
 public:
  explicit WatchSplitter(Encoding encoding) : encoding_(encoding) {}
  Result<> feed(std::string_view chunk, wire::MessageVisitor visit) {
    return encoding_ == Encoding::json ? lines_.feed(chunk, visit) : frames_.feed(chunk, visit);
  }
  // Fails when the stream ended inside a message.
  Result<> finish() const {
    return encoding_ == Encoding::json ? lines_.finish() : frames_.finish();
  }

 private:
  Encoding encoding_;
  wire::LineSplitter lines_;
  wire::LengthSplitter frames_;
};

}  // namespace berth::kube
