#include "sim/kube/managed_entries.h"

#include <algorithm>
#include <boost/json.hpp>
#include <tuple>

#include <fmt/format.h>

#include "sim/kube/object_meta.h"
#include "sim/kube/text_cursor.h"
#include "wire/json_writer.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// Reads what `store_entries` has written, and nothing else.
class EntryReader {
 public:
  explicit EntryReader(std::string_view text) : text_(text) {}

  std::optional<ManagedEntries> read() {
    ManagedEntries entries;
    if (!text_.take("[")) return std::nullopt;
    do {
      if (!read_entry(entries.emplace_back())) return std::nullopt;
    } while (text_.take(","));
    if (!text_.take("]") || !text_.at_end()) return std::nullopt;
    return entries;
  }

 private:
  bool read_text(std::string_view key, std::string& out) {
    const auto value = text_.take(key) ? text_.quoted() : std::nullopt;
    out = value.value_or("");
    return value.has_value();
  }

  bool read_entry(ManagedEntry& entry) {
    std::string operation;
    if (!read_text(R"({"manager":)", entry.manager) || !read_text(R"(,"operation":)", operation) ||
        !read_text(R"(,"apiVersion":)", entry.api_version)) {
      return false;
    }
    entry.applied = operation == "Apply";
    (void)read_text(R"(,"time":)", entry.time);
    if (!text_.take(R"(,"fieldsType":"FieldsV1","fieldsV1":)")) return false;
    entry.fields = text_.object().value_or("");
    (void)read_text(R"(,"subresource":)", entry.subresource);
    return text_.take("}") && !entry.fields.empty();
  }

  TextCursor text_;
};

std::string written(const ManagedEntries& entries) {
  std::string out = "[";
  for (const ManagedEntry& entry : entries) {
    if (out.size() > 1) out += ',';
    out.append(R"({"manager":")").append(entry.manager);
    out.append(R"(","operation":")").append(entry.applied ? "Apply" : "Update");
    out.append(R"(","apiVersion":")").append(entry.api_version);
    if (!entry.time.empty()) out.append(R"(","time":")").append(entry.time);
    out.append(R"(","fieldsType":"FieldsV1","fieldsV1":)").append(entry.fields);
    if (!entry.subresource.empty()) {
      out.append(R"(,"subresource":")").append(entry.subresource).append("\"");
    }
    out += '}';
  }
  return out + ']';
}

// What a client sent.
std::optional<ManagedEntry> decode_entry(const Value& value) {
  const auto text = [&value](const char* pointer) {
    return json_escaped(wire::string_at(value, pointer));
  };
  const std::string operation = text("/operation");
  const Value* fields = wire::find(value, "/fieldsV1");
  const std::optional<FieldSet> set = fields == nullptr ? FieldSet{} : FieldSet::from_json(*fields);
  ManagedEntry entry{.manager = text("/manager"),
                     .applied = operation == "Apply",
                     .api_version = text("/apiVersion"),
                     .time = text("/time"),
                     .fields = set ? set->text() : std::string(),
                     .subresource = text("/subresource")};
  const bool known = entry.applied || operation == "Update";
  if (!known || entry.api_version.empty() || text("/fieldsType") != "FieldsV1" || !set) {
    return std::nullopt;
  }
  return entry;
}

}  // namespace

const Value* managed_list(const Value* object) {
  return object == nullptr ? nullptr : wire::find(*object, "/metadata/managedFields");
}

std::optional<ManagedEntries> decode_entries(const Value& list) {
  if (list.is_string()) return EntryReader(list.get_string()).read();
  if (!list.is_array()) return std::nullopt;
  ManagedEntries entries;
  for (const Value& one : list.get_array()) {
    std::optional<ManagedEntry> entry = decode_entry(one);
    if (!entry) return std::nullopt;
    entries.push_back(std::move(*entry));
  }
  return entries;
}

void store_entries(Value& object, ManagedEntries entries) {
  using Order =
      std::tuple<bool, std::string_view, std::string_view, std::string_view, std::string_view>;
  std::ranges::sort(entries, {}, [](const ManagedEntry& entry) {
    return Order(!entry.applied, entry.time, entry.manager, entry.api_version, entry.subresource);
  });
  if (entries.empty()) {
    metadata_of(object).erase("managedFields");
  } else {
    metadata_of(object)["managedFields"] = written(entries);
  }
}

Value shown_object(const Value& object) {
  Value shown = object;
  Value* list = wire::find(shown, "/metadata/managedFields");
  if (list == nullptr || !list->is_string()) return shown;
  if (Result<Value> entries = wire::parse_json(list->get_string())) *list = std::move(*entries);
  return shown;
}

void append_metadata(std::string& out, const Value& metadata) {
  out += '{';
  for (const auto& field : metadata.get_object()) {
    if (out.back() != '{') out += ',';
    // Names that `normalize_metadata` knows need no escapes.
    out += '"';
    out += std::string_view(field.key());
    out += "\":";
    if (field.key() == "managedFields" && field.value().is_string()) {
      out += std::string_view(field.value().get_string());
    } else {
      wire::append_json(out, field.value());
    }
  }
  out += '}';
}

void keep_managed_fields(Value& object, const Value& from) {
  Value* metadata = wire::find(object, "/metadata");
  if (metadata == nullptr || !metadata->is_object()) return;
  if (const Value* list = managed_list(&from)) {
    metadata->get_object()["managedFields"] = *list;
  } else {
    metadata->get_object().erase("managedFields");
  }
}

void keep_old_times(Value& object, const Value& old) {
  Value* list = wire::find(object, "/metadata/managedFields");
  const Value* before = managed_list(&old);
  // Times have one length.
  if (list == nullptr || before == nullptr || *list == *before ||
      list->get_string().size() != before->get_string().size()) {
    return;
  }
  std::optional<ManagedEntries> entries = decode_entries(*list);
  const std::optional<ManagedEntries> known = decode_entries(*before);
  if (!entries || !known || entries->size() != known->size()) return;
  for (std::size_t i = 0; i < entries->size(); ++i) (*entries)[i].time = (*known)[i].time;
  if (*entries == *known) *list = *before;
}

}  // namespace berth::sim::kube
