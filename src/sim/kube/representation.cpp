#include "sim/kube/representation.h"

#include <boost/json.hpp>

#include <functional>

#include <fmt/format.h>

#include "base/encoding.h"
#include "sim/kube/conversion.h"
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

void append_fields(std::string& out, const wire::Value& stored, const Representation& shape,
                   bool with_type) {
  const bool converts = shape.served.converts() && !shape.metadata_only;
  const wire::Value converted = converts ? in_served_version(shape.served, stored) : wire::Value();
  const wire::Value& object = converts ? converted : stored;
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

Representation metadata_shape(const ServedKind& served) {
  return {.served = served,
          .api_version = "meta.k8s.io/v1",
          .kind = "PartialObjectMetadata",
          .list_kind = "PartialObjectMetadataList",
          .metadata_only = true,
          .typed_items = true};
}

Representation whole_shape(const ServedKind& served) {
  return {.served = served,
          .api_version = served.api_version(),
          .kind = served.kind->kind,
          .list_kind = served.kind->list_kind,
          .typed_items = served.kind->custom};
}

Outcome<Representation> table_shape(const ServedKind& served, const RequestInfo& info) {
  Representation shape{.served = served,
                       .api_version = "meta.k8s.io/v1",
                       .kind = "Table",
                       .list_kind = "Table",
                       .table = true};
  const std::string_view objects = info.parameter("includeObject");
  if (objects == "None") {
    shape.row_object = RowObject::none;
  } else if (objects == "Object") {
    shape.row_object = RowObject::whole;
  } else if (!objects.empty() && objects != "Metadata") {
    return refuse(bad_request(
        fmt::format("Unable to convert to Table as requested: includeObject: Invalid value: "
                    "\"{}\": must be 'Metadata', 'Object', 'None', or empty",
                    objects)));
  }
  return shape;
}

void append_columns(std::string& out, const TableColumns& columns) {
  out += R"("columnDefinitions":[)";
  for (const TableColumn& column : columns) {
    if (&column != &columns.front()) out += ',';
    out += wire::to_json(wire::Object{{"name", column.name},
                                      {"type", column.type},
                                      {"format", column.format},
                                      {"description", column.description},
                                      {"priority", column.priority}});
  }
  out += ']';
}

void append_row(std::string& out, const wire::Value& object, const Representation& shape,
                WallTime now) {
  out += R"({"cells":[)";
  const TableColumns& columns = shape.served.version->columns;
  for (const TableColumn& column : columns) {
    if (&column != &columns.front()) out += ',';
    out += wire::to_json(column.cell(object, now));
  }
  out += R"(],"object":)";
  if (shape.row_object == RowObject::none) {
    out += "null}";
    return;
  }
  const bool whole = shape.row_object == RowObject::whole;
  append_fields(out, object, whole ? whole_shape(shape.served) : metadata_shape(shape.served),
                true);
  out += '}';
}

}  // namespace

Outcome<Representation> representation_of(const ServedKind& served, std::string_view accept,
                                          const RequestInfo& info) {
  while (!accept.empty()) {
    const std::string_view range = accept.substr(0, accept.find(','));
    accept.remove_prefix(std::min(range.size() + 1, accept.size()));
    const auto has = [range](std::string_view part) {
      return range.find(part) != std::string_view::npos;
    };
    if (!has("application/json") && !has("*/*")) continue;
    if (has("as=PartialObjectMetadata")) return metadata_shape(served);
    if (has("as=Table") && has("v=v1;")) return table_shape(served, info);
    if (!has("as=")) break;
  }
  return whole_shape(served);
}

std::shared_ptr<const ObjectTexts::Text> ObjectTexts::of(const ObjectPtr& object,
                                                         const Representation& shape) {
  const std::size_t place = std::hash<const wire::Value*>{}(object.get()) / 16 % kPlaces;
  {
    const MutexLock lock(mu_);
    const auto& kept = kept_[place];
    if (kept && kept->object == object && kept->api_version == shape.api_version) return kept;
  }
  Text text{.object = object, .api_version = shape.api_version};
  append_type(text.whole, shape.kind, shape.api_version);
  text.fields = 1 + text.whole.size();
  text.whole.clear();
  append_fields(text.whole, *object, shape, true);
  if (text.whole[text.fields] == ',') ++text.fields;
  auto made = std::make_shared<const Text>(std::move(text));
  const MutexLock lock(mu_);
  kept_[place] = made;
  return made;
}

void ObjectTexts::append(std::string& out, const ObjectPtr& object, const Representation& shape,
                         bool with_type) {
  if (!shape.shows_stored()) return append_fields(out, *object, shape, with_type);
  const auto text = of(object, shape);
  if (with_type) {
    out += text->whole;
  } else {
    out += '{';
    out += std::string_view(text->whole).substr(text->fields);
  }
}

void append_object(std::string& out, const ObjectPtr& object, const Representation& shape,
                   WallTime now, ObjectTexts& texts) {
  if (shape.table) return append_object(out, *object, shape, now);
  texts.append(out, object, shape, true);
}

void append_object(std::string& out, const wire::Value& object, const Representation& shape,
                   WallTime now) {
  if (!shape.table) return append_fields(out, object, shape, true);
  out += '{';
  append_type(out, shape.kind, shape.api_version);
  out += R"(,"metadata":{"resourceVersion":)";
  append_json_string(out, wire::string_at(object, "/metadata/resourceVersion"));
  out += "},";
  append_columns(out, shape.served.version->columns);
  out += R"(,"rows":[)";
  append_row(out, object, shape, now);
  out += "]}";
}

std::string list_text(const std::vector<ObjectPtr>& items, const ListMetadata& metadata,
                      const Representation& shape, WallTime now, ObjectTexts& texts) {
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
  out += "},";
  if (shape.table) append_columns(out, shape.served.version->columns);
  out += shape.table ? R"(,"rows":[)" : R"("items":[)";
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    if (shape.table) {
      append_row(out, *items[i], shape, now);
    } else {
      texts.append(out, items[i], shape, shape.typed_items);
    }
  }
  out += "]}";
  return out;
}

void append_event(std::string& out, std::string_view type, const ObjectPtr& object,
                  const Representation& shape, WallTime now, ObjectTexts& texts) {
  begin_event(out, type);
  append_object(out, object, shape, now, texts);
  out += "}\n";
}

void append_bookmark(std::string& out, std::uint64_t version, bool initial_events_end,
                     const Representation& shape) {
  begin_event(out, "BOOKMARK");
  if (shape.table) {
    // A row of an object without anything.
    wire::Object metadata{{"resourceVersion", std::to_string(version)}};
    if (initial_events_end) {
      metadata["annotations"] = wire::Object{{"k8s.io/initial-events-end", "true"}};
    }
    append_object(out, wire::Object{{"metadata", std::move(metadata)}}, shape, {});
    out += "}\n";
    return;
  }
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
