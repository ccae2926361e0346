#include "masking.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

namespace berth::parity {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) return;
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// A resource version is a short number: it must not be found in the middle of another, nor in a
// JSON number such as a status code.
bool stands_alone(const std::string& text, std::size_t at, std::size_t size) {
  const char before = at == 0 ? ' ' : text[at - 1];
  const char after = at + size == text.size() ? ' ' : text[at + size];
  return !is_alphanumeric(before) && before != ':' && !is_alphanumeric(after);
}

// Values that differ between servers or runs; that they are there still counts.
const std::set<std::string_view> kMasked{"uid",
                                         "resourceVersion",
                                         "creationTimestamp",
                                         "deletionTimestamp",
                                         "lastTransitionTime",
                                         "continue",
                                         "token",
                                         "expirationTimestamp",
                                         "time"};
const std::set<std::string_view> kDropped{"selfLink"};

// The entries of managedFields are sorted by time, in seconds: the order says when a case ran. The
// owners that an apply has met are in no order.
void sort_owners(Array& list) {
  const auto is_owner = [](const Value& one) {
    return wire::find(one, "/fieldsType") != nullptr ||
           wire::string_at(one, "/reason") == "FieldManagerConflict";
  };
  if (!std::ranges::all_of(list, is_owner)) return;
  std::ranges::sort(list, {}, [](const Value& one) { return wire::to_json(one); });
}

using Names = std::set<std::string_view>;

// Cells of tables tell the time too: "12s", "2026-01-02T03:04:05Z".
Value masked_cell(const Value& cell) {
  if (!cell.is_string()) return cell;
  const std::string_view text = cell.get_string();
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits > 0 && digits + 1 == text.size() && text.back() == 's') return "<age>";
  if (digits == 4 && text.size() == 20 && text.back() == 'Z') return "<time>";
  return cell;
}

Array masked_cells(const Array& cells) {
  Array out;
  for (const Value& cell : cells) out.push_back(masked_cell(cell));
  return out;
}

Value masked(const Value& value, const Names& without) {
  if (value.is_array()) {
    Array out;
    for (const Value& item : value.get_array()) out.push_back(masked(item, without));
    sort_owners(out);
    return out;
  }
  if (!value.is_object()) return value;
  std::map<std::string, Value> sorted;  // the order of members says nothing
  for (const auto& member : value.get_object()) {
    if (kDropped.contains(member.key()) || without.contains(member.key())) continue;
    if (member.key() == "cells" && member.value().is_array()) {
      sorted["cells"] = masked_cells(member.value().get_array());
      continue;
    }
    // The real server writes an empty token for custom kinds and none for built-in ones.
    if (member.key() == "continue" && member.value() == Value("")) continue;
    const bool mask = kMasked.contains(member.key()) && !member.value().is_null();
    sorted[std::string(member.key())] = mask ? Value("<set>") : masked(member.value(), without);
  }
  Object out;
  for (auto& [key, member] : sorted) out[key] = std::move(member);
  return out;
}

}  // namespace

std::string expand(std::string text, const Variables& variables) {
  for (const auto& [name, value] : variables) replace_all(text, "$" + name, value);
  return text;
}

std::string collapse(std::string text, const Variables& variables) {
  for (const auto& [name, value] : variables) {
    const std::string key = "$" + name;
    for (std::size_t at = text.find(value); !value.empty() && at != std::string::npos;) {
      const bool whole = stands_alone(text, at, value.size());
      if (whole) text.replace(at, value.size(), key);
      at = text.find(value, at + (whole ? key.size() : 1));
    }
  }
  return text;
}

Value selected(const Value& body, const Value& step) {
  Names without;
  if (const Array* names = wire::array_at(step, "/without")) {
    for (const Value& name : *names) without.insert(name.get_string());
  }
  const Array* only = wire::array_at(step, "/only");
  if (!only) return masked(body, without);
  Object out;
  for (const Value& pointer : *only) {
    const std::string_view path = pointer.get_string();
    const Value* found = wire::find(body, path);
    // A masked value is masked by the name it has.
    const std::string_view name = path.substr(path.rfind('/') + 1);
    out[path] =
        found ? masked(Object{{name, *found}}, without).get_object()[name] : Value("<absent>");
  }
  return out;
}

}  // namespace berth::parity
