#include "sim/kube/protobuf_body.h"

#include <algorithm>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/time.h"
#include "sim/kube/field_table.h"
#include "wire/proto_reader.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::ProtoField;
using wire::ProtoReader;
using wire::Value;

constexpr std::string_view kMagic{"k8s\0", 4};
constexpr std::size_t kMaxDepth = wire::kMaxDepth;

ApiError malformed(std::string_view what) {
  return bad_request(fmt::format("the protobuf body is malformed: {}", what));
}

// Fields of small messages, by number.
struct Parts {
  std::uint64_t scalars[4] = {};
  std::string_view texts[4] = {};
  bool ok = false;
};

Parts parts_of(std::string_view bytes) {
  Parts parts;
  ProtoReader in(bytes);
  while (in.next()) {
    if (in->number >= std::size(parts.scalars)) continue;
    parts.scalars[in->number] = in->scalar;
    parts.texts[in->number] = in->bytes;
  }
  parts.ok = in.ok();
  return parts;
}

// A time past WallTime's range is held near its end, where any nanoseconds can be added.
constexpr std::chrono::seconds kLastSecond =
    std::chrono::floor<std::chrono::seconds>(WallTime::max().time_since_epoch()) -
    std::chrono::seconds{3};

Value time_value(std::string_view bytes, bool micro) {
  const Parts parts = parts_of(bytes);
  const auto seconds =
      std::min(std::chrono::seconds{static_cast<std::int64_t>(parts.scalars[1])}, kLastSecond);
  const auto nanos = std::chrono::nanoseconds{static_cast<std::int32_t>(parts.scalars[2])};
  // Go's zero time is long before ours; both it and an empty message mean "not set".
  if (seconds <= std::chrono::seconds{0}) return nullptr;
  const WallTime at{seconds + nanos};
  return Value(micro ? format_rfc3339_micro(at) : format_rfc3339(at));
}

Value int_or_string(std::string_view bytes) {
  const Parts parts = parts_of(bytes);
  if (parts.scalars[1] == 1) return Value(valid_utf8(parts.texts[3]));
  return Value(static_cast<std::int64_t>(parts.scalars[2]));
}

class Decoder {
 public:
  Outcome<Object> message(const Message& message, std::string_view bytes, std::size_t depth) {
    if (depth > kMaxDepth) return refuse(malformed("nested too deeply"));
    Object out;
    ProtoReader in(bytes);
    while (in.next()) {
      const auto field = std::ranges::find(message.fields, in->number, &Field::number);
      if (field == message.fields.end() && says_nothing(*in, depth)) continue;
      if (field == message.fields.end()) {
        return refuse(bad_request(
            fmt::format("protobuf field {} of {} is not known to this server; send JSON",
                        in->number, message.name)));
      }
      if (Outcome<> fine = add(out, *field, *in, depth); !fine) return refuse(fine);
    }
    if (!in.ok()) return refuse(malformed(message.name));
    return out;
  }

 private:
  Outcome<> add(Object& out, const Field& field, const ProtoField& from, std::size_t depth) {
    if (field.map) return add_entry(out, field, from.bytes, depth);
    Outcome<Value> decoded = value(field, from, depth);
    if (!decoded) return refuse(decoded);
    if (field.inlined) {
      for (auto& member : decoded->get_object()) out[member.key()] = std::move(member.value());
    } else if (field.list) {
      Value& list = out[field.name];
      if (!list.is_array()) list.emplace_array();
      list.get_array().push_back(std::move(*decoded));
    } else if (field.keeps_zero || field.required || !is_zero(*decoded)) {
      out[field.name] = std::move(*decoded);
    }
    return {};
  }

  Outcome<> add_entry(Object& out, const Field& field, std::string_view bytes, std::size_t depth) {
    Value& map = out[field.name];
    if (!map.is_object()) map.emplace_object();
    std::string key;
    Value entry =
        field.type == FieldType::text || field.type == FieldType::bytes ? Value("") : Value();
    ProtoReader in(bytes);
    while (in.next()) {
      if (in->number == 1) key = valid_utf8(in->bytes);
      if (in->number != 2) continue;
      Outcome<Value> decoded = value(field, *in, depth);
      if (!decoded) return refuse(decoded);
      entry = std::move(*decoded);
    }
    if (!in.ok()) return refuse(malformed(field.name));
    map.get_object()[key] = std::move(entry);
    return {};
  }

  // Go writes fields that are no pointers even when they are zero, and messages full of zeros.
  static bool says_nothing(const ProtoField& field, std::size_t depth) {
    if (field.scalar != 0 || depth > kMaxDepth) return false;
    ProtoReader in(field.bytes);
    while (in.next()) {
      if (!says_nothing(*in, depth + 1)) return false;
    }
    return in.ok();
  }

  // What JSON leaves out. An empty message says no more than a missing one.
  static bool is_zero(const Value& value) {
    if (value.is_string()) return value.get_string().empty();
    if (value.is_object()) return value.get_object().empty();
    return value.is_null() || value == Value(0) || value == Value(false);
  }

  // FieldsV1 and RawExtension: a message around the bytes of a document, which nobody has checked.
  static Value json_value(std::string_view bytes) {
    const std::string_view text = parts_of(bytes).texts[1];
    if (text.empty()) return Value();
    Result<Value> document = wire::parse_json(text);
    return document ? std::move(*document) : Value(valid_utf8(text));
  }

  Outcome<Value> value(const Field& field, const ProtoField& from, std::size_t depth) {
    switch (field.type) {
      case FieldType::text: return Value(valid_utf8(from.bytes));
      case FieldType::integer: return Value(static_cast<std::int64_t>(from.scalar));
      case FieldType::boolean: return Value(from.scalar != 0);
      case FieldType::time: return time_value(from.bytes, false);
      case FieldType::micro_time: return time_value(from.bytes, true);
      case FieldType::bytes: return Value(base64_encode(from.bytes));
      case FieldType::quantity: return Value(valid_utf8(parts_of(from.bytes).texts[1]));
      case FieldType::int_or_string: return int_or_string(from.bytes);
      case FieldType::json: return json_value(from.bytes);
      case FieldType::opaque:
        if (says_nothing(from, depth)) return Value(Object{});
        return refuse(bad_request(
            fmt::format("protobuf field {} is not known to this server; send JSON", field.name)));
      case FieldType::message: break;
    }
    Outcome<Object> inner = message(*field.message, from.bytes, depth + 1);
    if (!inner) return refuse(inner);
    return Value(std::move(*inner));
  }
};

}  // namespace

Outcome<Value> decode_protobuf(std::string_view body) {
  if (!body.starts_with(kMagic)) return refuse(malformed("it does not start with its magic"));
  body.remove_prefix(kMagic.size());
  const Parts unknown = parts_of(body);
  const Parts type = parts_of(unknown.texts[1]);
  if (!unknown.ok || !type.ok) return refuse(malformed("its envelope"));
  const std::string_view api_version = type.texts[1];
  const std::size_t slash = api_version.find('/');
  const bool core = slash == std::string_view::npos;
  const Message* message =
      message_of(core ? std::string_view() : api_version.substr(0, slash),
                 core ? api_version : api_version.substr(slash + 1), type.texts[2]);
  if (message == nullptr) {
    return refuse(bad_request(fmt::format(
        "{} {} is not known to this server as protobuf; send JSON", api_version, type.texts[2])));
  }
  Outcome<Object> object = Decoder().message(*message, unknown.texts[2], 0);
  if (!object) return refuse(object);
  (*object)["apiVersion"] = valid_utf8(api_version);
  (*object)["kind"] = type.texts[2];
  return Value(std::move(*object));
}

}  // namespace berth::sim::kube
