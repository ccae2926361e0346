#include "kube/cache/watch_event.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "kube/client/status.h"
#include "wire/proto_reader.h"
#include "wire/value.h"

namespace berth::kube {
namespace {

constexpr std::array<std::pair<std::string_view, EventType>, 5> kTypes{{
    {"ADDED", EventType::added},
    {"MODIFIED", EventType::modified},
    {"DELETED", EventType::deleted},
    {"BOOKMARK", EventType::bookmark},
    {"ERROR", EventType::error},
}};

Result<EventType> type_of(std::string_view name) {
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  return fail(Code::unsupported, "'{}' is no type of watch event", name.substr(0, 32));
}

Result<WatchEvent> decode_json(wire::JsonReader& reader, std::string_view message) {
  WatchEvent event;
  std::string_view type;
  auto read = reader.read(message, [&](std::string_view key, wire::JsonNode value) {
    if (key == "type") type = value.string();
    if (key == "object") event.object = value.raw();
  });
  if (!read) return pass(read);
  auto known = type_of(type);
  if (!known) return pass(known);
  event.type = *known;
  if (event.object.empty()) return fail(Code::invalid, "a watch event has no object");
  return event;
}

Result<WatchEvent> decode_protobuf(std::string_view message) {
  std::string_view type;
  std::string_view document;
  bool raw_ok = true;
  wire::ProtoReader in(message);
  while (in.next()) {
    if (in->number == 1) type = in->bytes;
    if (in->number != 2) continue;
    wire::ProtoReader raw(in->bytes);
    while (raw.next()) {
      if (raw->number == 1) document = raw->bytes;
    }
    raw_ok = raw_ok && raw.ok();
  }
  if (!in.ok() || !raw_ok) return fail(Code::invalid, "a watch event in protobuf is malformed");
  auto known = type_of(type);
  if (!known) return pass(known);
  auto opened = open_protobuf_envelope(document);
  if (!opened) return pass(opened);
  return WatchEvent{.type = *known,
                    .api_version = opened->api_version,
                    .kind = opened->kind,
                    .object = opened->object};
}

}  // namespace

Result<WatchEvent> decode_watch_event(Encoding encoding, wire::JsonReader& reader,
                                      std::string_view message) {
  return encoding == Encoding::json ? decode_json(reader, message) : decode_protobuf(message);
}

Error error_of_event(Encoding encoding, const WatchEvent& event) {
  if (encoding == Encoding::protobuf) {
    if (const auto status = status_from_protobuf(event.object)) return error_from_status(*status);
  } else if (const auto status = wire::parse_json(event.object)) {
    return error_from_status(*status);
  }
  return error_of(Code::internal, "the server sent an error event that cannot be read");
}

}  // namespace berth::kube
