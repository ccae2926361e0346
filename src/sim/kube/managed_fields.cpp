#include "sim/kube/managed_fields.h"

#include <algorithm>
#include <boost/json.hpp>
#include <tuple>

#include <fmt/format.h>

#include "base/encoding.h"
#include "sim/kube/field_changes.h"
#include "sim/kube/object_meta.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// More entries of updates than this, and the oldest become one.
constexpr std::size_t kMaxUpdateEntries = 10;
constexpr std::string_view kOldUpdates = "ancient-changes";

// Owns what was there when an object without owners is applied to.
constexpr std::string_view kBeforeApply = "before-first-apply";

struct Entry {
  std::string manager{};
  bool applied = false;
  std::string api_version{};
  std::string time{};
  std::string fields{};  // the text of a FieldSet
  std::string subresource{};

  // Applied configurations keep their entry when the version of the kind changes.
  bool is_of(const Entry& other) const {
    return manager == other.manager && applied == other.applied &&
           subresource == other.subresource && (applied || api_version == other.api_version);
  }
  FieldSet set() const { return FieldSet::parse(fields).value_or(FieldSet{}); }
};
using Entries = std::vector<Entry>;

// Nothing when it is no list of entries.
std::optional<Entries> decode(const Value* list) {
  Entries entries;
  if (list == nullptr) return entries;
  if (!list->is_array()) return std::nullopt;
  for (const Value& one : list->get_array()) {
    const auto text = [&one](const char* pointer) {
      return std::string(wire::string_at(one, pointer));
    };
    const std::string operation = text("/operation");
    Entry entry{.manager = text("/manager"),
                .applied = operation == "Apply",
                .api_version = text("/apiVersion"),
                .time = text("/time"),
                .fields = text("/fieldsV1"),
                .subresource = text("/subresource")};
    const bool known = entry.applied || operation == "Update";
    if (!known || entry.api_version.empty() || text("/fieldsType") != "FieldsV1" ||
        entry.fields.empty()) {
      return std::nullopt;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Value encode(const Entries& entries) {
  Array list;
  list.reserve(entries.size());
  for (const Entry& entry : entries) {
    Object one;
    one.reserve(7);
    one["manager"] = entry.manager;
    one["operation"] = entry.applied ? "Apply" : "Update";
    one["apiVersion"] = entry.api_version;
    if (!entry.time.empty()) one["time"] = entry.time;
    one["fieldsType"] = "FieldsV1";
    one["fieldsV1"] = entry.fields;
    if (!entry.subresource.empty()) one["subresource"] = entry.subresource;
    list.push_back(std::move(one));
  }
  return list;
}

void store(Value& object, Entries entries) {
  const auto order = [](const Entry& entry) {
    return std::tuple<bool, std::string_view, std::string_view, std::string_view, std::string_view>(
        !entry.applied, entry.time, entry.manager, entry.api_version, entry.subresource);
  };
  std::ranges::sort(entries, {}, order);
  if (entries.empty()) {
    metadata_of(object).erase("managedFields");
  } else {
    metadata_of(object)["managedFields"] = encode(entries);
  }
}

const Value* list_of(const Value* object) {
  return object == nullptr ? nullptr : wire::find(*object, "/metadata/managedFields");
}

// [] and [{}] take all owners away.
bool is_reset(const Value* list) {
  return list != nullptr && (*list == Array{} || *list == Array{Object{}});
}

// What the request says, if that is a list with something in it; else what was there. Clients that
// do not know the field must not lose it.
Entries entries_before(const Value* live, const Value& next, bool main) {
  const Value* given = main ? list_of(&next) : nullptr;
  const Value* stored = list_of(live);
  if (is_reset(given)) return {};
  if (given != nullptr && (stored == nullptr || *given != *stored)) {
    std::optional<Entries> entries = decode(given);
    const auto is_set = [](const Entry& entry) {
      return FieldSet::parse(entry.fields).has_value();
    };
    if (entries && !entries->empty() && std::ranges::all_of(*entries, is_set)) return *entries;
  }
  return decode(stored).value_or(Entries{});
}

void take_away(Entry& entry, const FieldSet& fields) {
  const FieldSet owned = entry.set();
  if (owned.intersects(fields)) entry.fields = owned.without(fields).text();
}

void drop_empty(Entries& entries) {
  std::erase_if(entries, [](const Entry& entry) { return entry.fields == "{}"; });
}

Entry new_entry(const FieldWriter& writer, bool applied) {
  return {.manager = writer.manager,
          .applied = applied,
          .api_version = writer.served.api_version(),
          .fields = "{}",
          .subresource = std::string(writer.subresource)};
}

Entry& entry_of(Entries& entries, Entry wanted) {
  const auto found =
      std::ranges::find_if(entries, [&](const Entry& one) { return one.is_of(wanted); });
  return found == entries.end() ? entries.emplace_back(std::move(wanted)) : *found;
}

void cap_updates(Entries& entries) {
  auto updates = std::ranges::count(entries, false, &Entry::applied);
  if (updates <= static_cast<std::ptrdiff_t>(kMaxUpdateEntries)) return;
  std::ranges::stable_sort(entries, {}, &Entry::time);
  const auto oldest = [&] { return std::ranges::find(entries, false, &Entry::applied); };
  Entry bucket = *oldest();
  bucket.manager = kOldUpdates;
  bucket.subresource.clear();
  entries.erase(oldest());
  for (; updates > static_cast<std::ptrdiff_t>(kMaxUpdateEntries); --updates) {
    const auto next = oldest();
    bucket.fields = bucket.set().united(next->set()).text();
    bucket.time = next->time;
    entries.erase(next);
  }
  entries.push_back(std::move(bucket));
}

// The writer owns what it added or modified, and nobody else does.
void record(Entries& entries, const FieldChanges& changes, const FieldWriter& writer) {
  if (changes.empty()) return;
  const FieldSet gained = changes.added.united(changes.modified);
  const FieldSet touched = gained.united(changes.removed);
  const Entry own = new_entry(writer, false);
  for (Entry& entry : entries) {
    if (gained.empty() || !entry.is_of(own)) take_away(entry, touched);
  }
  if (!gained.empty()) {
    Entry& entry = entry_of(entries, own);
    const FieldSet owned = entry.set();
    if (owned.intersects(changes.removed) || !owned.contains(gained)) {
      entry.fields = owned.without(changes.removed).united(gained).text();
    }
    entry.time = format_rfc3339(writer.now);
  }
  drop_empty(entries);
  cap_updates(entries);
}

struct Conflict {
  std::string with;
  std::vector<std::string> fields;
};

std::string shown_manager(const Entry& entry) {
  std::string shown = shown_value(Value(entry.manager));
  if (!entry.subresource.empty()) {
    shown += fmt::format(" with subresource {}", shown_value(Value(entry.subresource)));
  }
  if (!entry.applied) shown += " using " + entry.api_version;
  return shown;
}

ApiError apply_conflict(std::vector<Conflict> conflicts) {
  std::ranges::sort(conflicts, {}, &Conflict::with);
  ApiError error{.code = 409, .reason = "Conflict", .has_details = true};
  std::string text;
  for (const Conflict& conflict : conflicts) {
    text += fmt::format("{}conflicts with {}:", text.empty() ? "" : "\n", conflict.with);
    for (const std::string& field : conflict.fields) {
      text += "\n- " + field;
      error.causes.push_back({"FieldManagerConflict", "conflict with " + conflict.with, field});
    }
  }
  const std::size_t count = error.causes.size();
  if (count == 1) {
    text = fmt::format("{}: {}", error.causes[0].message, error.causes[0].field);
  }
  error.message =
      fmt::format("Apply failed with {} conflict{}: {}", count, count == 1 ? "" : "s", text);
  return error;
}

Outcome<> check_configuration(const ServedKind& served, const Value& configuration) {
  if (wire::find(configuration, "/metadata/managedFields") != nullptr) {
    return refuse(bad_request("metadata.managedFields must be nil"));
  }
  const std::vector<std::string> defects = configuration_defects(served, configuration);
  if (defects.empty()) return {};
  ApiError error;
  error.message = fmt::format(
      "failed to create typed patch object ({}/{}; {}/{}, Kind={}): {}",
      namespace_of(configuration), name_of(configuration), served.kind->group, served.version->name,
      served.kind->kind,
      defects.size() == 1 ? defects[0] : fmt::format("errors:\n  {}", fmt::join(defects, "\n  ")));
  return refuse(std::move(error));
}

void append_entries(std::string& out, const Array& list) {
  out += '[';
  for (const Value& entry : list) {
    if (&entry != list.data()) out += ',';
    out += '{';
    for (const auto& field : entry.get_object()) {
      if (out.back() != '{') out += ',';
      append_json_string(out, field.key());
      out += ':';
      if (field.key() == "fieldsV1" && field.value().is_string()) {
        out += std::string_view(field.value().get_string());
      } else {
        append_json_string(out, field.value().is_string()
                                    ? std::string_view(field.value().get_string())
                                    : std::string_view());
      }
    }
    out += '}';
  }
  out += ']';
}

}  // namespace

std::string manager_name(std::string_view field_manager, std::string_view user_agent) {
  if (!field_manager.empty()) return std::string(field_manager);
  std::string name;
  for (const char c : user_agent.substr(0, user_agent.find('/'))) {
    if (static_cast<unsigned char>(c) >= ' ' && c != 0x7f && name.size() < kMaxManagerBytes) {
      name += c;
    }
  }
  return name.empty() ? "unknown" : name;
}

void track_update(const Value* live, Value& next, const FieldWriter& writer) {
  static const Value kNothing = Object{};
  Entries entries = entries_before(live, next, writer.subresource.empty());
  if (live == nullptr || !entries.empty()) {
    record(entries,
           compare_fields({writer.served, writer.subresource}, live == nullptr ? kNothing : *live,
                          next),
           writer);
  }
  store(next, std::move(entries));
}

Outcome<Value> apply_configuration(const Value* live, const Value& configuration,
                                   const FieldWriter& writer, bool force) {
  const ServedKind& served = writer.served;
  if (Outcome<> fine = check_configuration(served, configuration); !fine) return refuse(fine);
  const FieldScope scope{served, writer.subresource};
  Value before = live == nullptr ? Value(Object{}) : *live;
  Entries entries = decode(list_of(live)).value_or(Entries{});
  if (live != nullptr) metadata_of(before).erase("managedFields");
  if (entries.empty()) {
    FieldWriter nobody = writer;
    nobody.manager = kBeforeApply;
    record(entries, compare_fields(scope, Object{}, before), nobody);
  }
  Entry& own = entry_of(entries, new_entry(writer, true));
  const FieldSet last = own.set();
  own.fields = fields_of(scope, configuration).text();
  own.api_version = served.api_version();

  Value next = merge_fields(served, before, configuration);
  if (wire::object_at(next, "/metadata") == nullptr) {
    next.get_object()["metadata"] = live == nullptr ? Object{} : metadata_of(before);
  }
  FieldSet wanted;
  for (const Entry& entry : entries) wanted = wanted.united(entry.set());
  remove_fields(served, next, last, wanted);

  const FieldChanges changes = compare_fields(scope, before, next);
  const FieldSet gained = changes.added.united(changes.modified);
  std::vector<Conflict> conflicts;
  for (Entry& entry : entries) {
    if (&entry == &own) continue;
    const FieldSet contested = entry.set().intersected(gained);
    if (!contested.empty()) conflicts.push_back({shown_manager(entry), contested.paths()});
    take_away(entry, gained.united(changes.removed));
  }
  if (!conflicts.empty() && !force) return refuse(apply_conflict(std::move(conflicts)));
  if (next != before) own.time = format_rfc3339(writer.now);
  drop_empty(entries);
  store(next, std::move(entries));
  return next;
}

void keep_managed_fields(Value& object, const Value& from) {
  Value* metadata = wire::find(object, "/metadata");
  if (metadata == nullptr || !metadata->is_object()) return;
  if (const Value* list = list_of(&from)) {
    metadata->get_object()["managedFields"] = *list;
  } else {
    metadata->get_object().erase("managedFields");
  }
}

void keep_old_times(Value& object, const Value& old) {
  Value* list = wire::find(object, "/metadata/managedFields");
  const Array* before = wire::array_at(old, "/metadata/managedFields");
  if (list == nullptr || before == nullptr) return;
  const auto same_but_time = [](const Value& a, const Value& b) {
    return a.get_object().size() == b.get_object().size() &&
           std::ranges::all_of(a.get_object(), [&b](const auto& field) {
             const Value* other = b.get_object().if_contains(field.key());
             return other != nullptr && (field.key() == "time" || *other == field.value());
           });
  };
  if (std::ranges::equal(list->get_array(), *before, same_but_time)) *list = *before;
}

void compact_managed_fields(Value& list) {
  if (!list.is_array()) return;
  for (Value& entry : list.get_array()) {
    Value* fields = entry.is_object() ? entry.get_object().if_contains("fieldsV1") : nullptr;
    if (fields == nullptr || fields->is_string()) continue;
    const std::optional<FieldSet> set = FieldSet::from_json(*fields);
    *fields = set ? Value(set->text()) : Value();
  }
}

void append_metadata(std::string& out, const Value& metadata) {
  out += '{';
  for (const auto& field : metadata.get_object()) {
    if (out.back() != '{') out += ',';
    append_json_string(out, field.key());
    out += ':';
    if (field.key() == "managedFields") {
      append_entries(out, field.value().get_array());
    } else {
      out += wire::to_json(field.value());
    }
  }
  out += '}';
}

Value shown_object(const Value& object) {
  Value shown = object;
  Value* list = wire::find(shown, "/metadata/managedFields");
  if (list == nullptr) return shown;
  for (Value& entry : list->get_array()) {
    Value& fields = entry.get_object()["fieldsV1"];
    if (!fields.is_string()) continue;
    if (Result<Value> parsed = wire::parse_json(fields.get_string())) fields = std::move(*parsed);
  }
  return shown;
}

}  // namespace berth::sim::kube
