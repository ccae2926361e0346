#include "sim/kube/managed_fields.h"

#include <algorithm>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "sim/kube/field_changes.h"
#include "sim/kube/managed_entries.h"
#include "sim/kube/object_meta.h"
#include "wire/equal.h"

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

// What the request says, if that is a list with something in it; else what was there. Clients that
// do not know the field must not lose it.
ManagedEntries entries_before(const Value* live, const Value& next, bool main) {
  const Value* given = main ? managed_list(&next) : nullptr;
  const Value* stored = managed_list(live);
  // These take all owners away.
  if (given != nullptr && (*given == Array{} || *given == Array{Object{}})) return {};
  if (given != nullptr && given->is_array()) {
    std::optional<ManagedEntries> entries = decode_entries(*given);
    if (entries && !entries->empty()) return std::move(*entries);
  }
  if (stored == nullptr) return {};
  return decode_entries(*stored).value_or(ManagedEntries{});
}

void take_away(ManagedEntry& entry, const FieldSet& fields) {
  if (FieldSet::shared_members(entry.fields, fields) == 0) return;
  entry.fields = entry.set().without(fields).text();
}

void drop_empty(ManagedEntries& entries) {
  std::erase_if(entries, [](const ManagedEntry& entry) { return entry.fields == "{}"; });
}

ManagedEntry new_entry(const FieldWriter& writer, bool applied) {
  return {.manager = json_escaped(writer.manager),
          .applied = applied,
          .api_version = writer.served.api_version(),
          .fields = "{}",
          .subresource = std::string(writer.subresource)};
}

ManagedEntry& entry_of(ManagedEntries& entries, ManagedEntry wanted) {
  const auto found =
      std::ranges::find_if(entries, [&](const ManagedEntry& one) { return one.is_of(wanted); });
  return found == entries.end() ? entries.emplace_back(std::move(wanted)) : *found;
}

void cap_updates(ManagedEntries& entries) {
  auto updates = std::ranges::count(entries, false, &ManagedEntry::applied);
  if (updates <= static_cast<std::ptrdiff_t>(kMaxUpdateEntries)) return;
  std::ranges::sort(entries, {}, [](const ManagedEntry& entry) {
    return std::pair<std::string_view, std::string_view>(entry.time, entry.manager);
  });
  const auto oldest = [&] { return std::ranges::find(entries, false, &ManagedEntry::applied); };
  ManagedEntry bucket = *oldest();
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
void record(ManagedEntries& entries, const FieldChanges& changes, const FieldWriter& writer) {
  if (changes.empty()) return;
  const FieldSet gained = changes.added.united(changes.modified);
  const FieldSet touched = gained.united(changes.removed);
  const ManagedEntry own = new_entry(writer, false);
  for (ManagedEntry& entry : entries) {
    if (gained.empty() || !entry.is_of(own)) take_away(entry, touched);
  }
  if (!gained.empty()) {
    ManagedEntry& entry = entry_of(entries, own);
    take_away(entry, changes.removed);
    if (FieldSet::shared_members(entry.fields, gained) < gained.size()) {
      entry.fields = entry.set().united(gained).text();
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

std::string shown_manager(const ManagedEntry& entry) {
  std::string shown = fmt::format("\"{}\"", entry.manager);
  if (!entry.subresource.empty()) {
    shown += fmt::format(" with subresource \"{}\"", entry.subresource);
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
  ManagedEntries entries = entries_before(live, next, writer.subresource.empty());
  if (live == nullptr || !entries.empty()) {
    record(entries,
           compare_fields({writer.served, writer.subresource}, live == nullptr ? kNothing : *live,
                          next),
           writer);
  }
  store_entries(next, std::move(entries));
}

Outcome<Value> apply_configuration(const Value* live, const Value& configuration,
                                   const FieldWriter& writer, bool force) {
  const ServedKind& served = writer.served;
  if (Outcome<> fine = check_configuration(served, configuration); !fine) return refuse(fine);
  const FieldScope scope{served, writer.subresource};
  Value before = live == nullptr ? Value(Object{}) : *live;
  ManagedEntries entries = live == nullptr ? ManagedEntries{} : entries_before(live, *live, false);
  if (live != nullptr) metadata_of(before).erase("managedFields");
  if (entries.empty()) {
    FieldWriter nobody = writer;
    nobody.manager = kBeforeApply;
    record(entries, compare_fields(scope, Object{}, before), nobody);
  }
  ManagedEntry& own = entry_of(entries, new_entry(writer, true));
  const FieldSet last = own.set();
  own.fields = fields_of(scope, configuration).text();
  own.api_version = served.api_version();

  Value next = merge_fields(served, before, configuration);
  if (wire::object_at(next, "/metadata") == nullptr) {
    next.get_object()["metadata"] = live == nullptr ? Object{} : metadata_of(before);
  }
  FieldSet wanted;
  for (const ManagedEntry& entry : entries) wanted = wanted.united(entry.set());
  remove_fields(served, next, last, wanted);

  const FieldChanges changes = compare_fields(scope, before, next);
  const FieldSet gained = changes.added.united(changes.modified);
  std::vector<Conflict> conflicts;
  for (ManagedEntry& entry : entries) {
    if (&entry == &own) continue;
    const FieldSet contested = entry.set().intersected(gained);
    if (!contested.empty()) conflicts.push_back({shown_manager(entry), contested.paths()});
    take_away(entry, gained.united(changes.removed));
  }
  if (!conflicts.empty() && !force) return refuse(apply_conflict(std::move(conflicts)));
  if (!wire::equal(next, before)) own.time = format_rfc3339(writer.now);
  drop_empty(entries);
  store_entries(next, std::move(entries));
  return next;
}

}  // namespace berth::sim::kube
