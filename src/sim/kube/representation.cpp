#include "sim/kube/representation.h"

#include <boost/json.hpp>

#include "base/encoding.h"
#include "sim/kube/managed_entries.h"
#include "wire/json_writer.h"

namespace berth::sim::kube {

namespace {

void append_type(std::string& out, std::string_view kind, std::string_view api_version) {
  out += R"("kind":)";
  append_json_string(out, kind);
  out += R"(,"apiVersion":)";
  append_json_string(out, api_version);
}

void append_fields(std::string& out, const wire::Value& object, const Representation& shape,
                   bool with_type) {
  out += '{';
  bool first = true;
  if (with_type) {
    append_type(out, shape.kind, shape.api_version);
    first = false;
  }
  for (const auto& field : object.get_object()) {
    if (field.key() == "kind" || field.key() == "apiVersion") continue;
    if (shape.metadata_only && field.key() != "metadata") continue;
    if (!first) out += ',';
    first = false;
    append_json_string(out, field.key());
    out += ':';
    if (field.key() == "metadata") {
      append_metadata(out, field.value());
    } else {
      wire::append_json(out, field.value());
    }
  }
  out += '}';
}

void begin_event(std::string& out, std::string_view type) {
  out += R"({"type":")";
  out += type;
  out += R"(","object":)";
}

}  // namespace

Representation representation_of(const ServedKind& served, const net::Request& request) {
  // The first range that asks for a projection decides: clients list their fallback after it.
  if (request.headers.get("Accept").find("as=PartialObjectMetadata") != std::string_view::npos) {
    return {.api_version = "meta.k8s.io/v1",
            .kind = "PartialObjectMetadata",
            .list_kind = "PartialObjectMetadataList",
            .metadata_only = true,
            .typed_items = true};
  }
  return {.api_version = served.api_version(),
          .kind = served.kind->kind,
          .list_kind = served.kind->list_kind,
          .typed_items = served.kind->custom};
}

void append_object(std::string& out, const wire::Value& object, const Representation& shape) {
  append_fields(out, object, shape, true);
}

std::string list_text(const std::vector<ObjectPtr>& items, const ListMetadata& metadata,
                      const Representation& shape) {
  std::string out = "{";
  append_type(out, shape.list_kind, shape.api_version);
  out += R"(,"metadata":{"resourceVersion":")" + std::to_string(metadata.version) + '"';
  if (!metadata.continue_token.empty()) {
    out += R"(,"continue":)";
    append_json_string(out, metadata.continue_token);
  }
  if (metadata.remaining > 0) {
    out += R"(,"remainingItemCount":)" + std::to_string(metadata.remaining);
  }
  out += R"(},"items":[)";
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    append_fields(out, *items[i], shape, shape.typed_items);
  }
  out += "]}";
  return out;
}

void append_event(std::string& out, std::string_view type, const wire::Value& object,
                  const Representation& shape) {
  begin_event(out, type);
  append_object(out, object, shape);
  out += "}\n";
}

void append_bookmark(std::string& out, std::uint64_t version, bool initial_events_end,
                     const Representation& shape) {
  begin_event(out, "BOOKMARK");
  out += '{';
  append_type(out, shape.kind, shape.api_version);
  out += R"(,"metadata":{"resourceVersion":")" + std::to_string(version) + '"';
  if (initial_events_end) out += R"(,"annotations":{"k8s.io/initial-events-end":"true"})";
  out += "}}}\n";
}

void append_error_event(std::string& out, const ApiError& error) {
  begin_event(out, "ERROR");
  out += wire::to_json(error.to_status());
  out += "}\n";
}

}  // namespace berth::sim::kube
