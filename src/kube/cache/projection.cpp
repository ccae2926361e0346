#include "kube/cache/projection.h"

#include <algorithm>
#include <map>

namespace berth::kube {
namespace {

using wire::JsonNode;
using wire::ProtoField;

// What a decoder of metadata notes beside the fields it fills.
struct Problem {
  std::string text{};
  void note(std::string what) {
    if (text.empty()) text = std::move(what);
  }
};

void set_version(std::string_view text, ObjectMeta& meta, Problem& problem) {
  if (auto version = parse_resource_version(text)) {
    meta.resource_version = *version;
  } else {
    problem.note(version.error().message);
  }
}

void keep(StringMap& map, const KeyFilter& filter, std::string_view key, std::string_view value) {
  if (filter.keeps(key)) map.emplace_back(Interned(key), std::string(value));
}

StringMap read_map(JsonNode node, const KeyFilter& filter) {
  StringMap map;
  node.fields(
      [&](std::string_view key, JsonNode value) { keep(map, filter, key, value.string()); });
  tidy(map);
  return map;
}

std::vector<Interned> read_names(JsonNode node) {
  std::vector<Interned> names;
  node.items([&](JsonNode item) { names.emplace_back(item.string()); });
  return names;
}

OwnerReference read_owner(JsonNode node) {
  OwnerReference owner;
  node.fields([&](std::string_view key, JsonNode value) {
    if (key == "apiVersion") owner.api_version = Interned(value.string());
    if (key == "kind") owner.kind = Interned(value.string());
    if (key == "name") owner.name = value.string();
    if (key == "uid") owner.uid = value.string();
    if (key == "controller") owner.controller = value.boolean();
  });
  return owner;
}

std::vector<OwnerReference> read_owners(JsonNode node) {
  std::vector<OwnerReference> owners;
  node.items([&](JsonNode item) { owners.push_back(read_owner(std::move(item))); });
  return owners;
}

void read_meta(JsonNode node, const MetaRules& rules, ObjectMeta& meta, Problem& problem) {
  node.fields([&](std::string_view key, JsonNode value) {
    if (key == "name") {
      meta.name = value.string();
    } else if (key == "namespace") {
      meta.ns = Interned(value.string());
    } else if (key == "uid") {
      meta.uid = value.string();
    } else if (key == "resourceVersion") {
      set_version(value.string(), meta, problem);
    } else if (key == "generation") {
      meta.generation = value.integer();
    } else if (key == "creationTimestamp") {
      if (value.is_null()) return;
      auto created = parse_rfc3339(value.string());
      if (created) meta.created = *created;
      if (!created) problem.note(created.error().message);
    } else if (key == "deletionTimestamp") {
      meta.deleting = !value.is_null();
    } else if (key == "labels") {
      meta.labels = read_map(value, rules.labels);
    } else if (key == "annotations") {
      meta.annotations = read_map(value, rules.annotations);
    } else if (key == "ownerReferences" && rules.owners) {
      meta.owners = read_owners(value);
    } else if (key == "finalizers" && rules.finalizers) {
      meta.finalizers = read_names(value);
    }
  });
}

bool read_owner(std::string_view message, std::vector<OwnerReference>& owners) {
  OwnerReference& owner = owners.emplace_back();
  return for_each_field(message, [&](const ProtoField& field) {
    switch (field.number) {
      case 1: owner.kind = Interned(field.bytes); break;
      case 3: owner.name = field.bytes; break;
      case 4: owner.uid = field.bytes; break;
      case 5: owner.api_version = Interned(field.bytes); break;
      case 6: owner.controller = field.scalar != 0; break;
      default: break;
    }
    return true;
  });
}

// metav1.Time; an empty one is "no time".
bool read_time(std::string_view message, WallTime& out) {
  std::int64_t seconds = 0;
  const bool ok = for_each_field(message, [&](const ProtoField& field) {
    if (field.number == 1) seconds = static_cast<std::int64_t>(field.scalar);
    return true;
  });
  // What nanoseconds in 64 bits can express: 1678 to 2262.
  constexpr std::int64_t kMaxSeconds = 9'223'372'036;
  if (!ok || seconds > kMaxSeconds || seconds < -kMaxSeconds) return false;
  out = WallTime(std::chrono::seconds(seconds));
  return true;
}

bool read_entry(std::string_view message, const KeyFilter& filter, StringMap& map) {
  std::string_view key;
  std::string_view value;
  if (!decode_map_entry(message, key, value)) return false;
  keep(map, filter, key, value);
  return true;
}

bool read_meta(std::string_view message, const MetaRules& rules, ObjectMeta& meta,
               Problem& problem) {
  StringMap labels;
  std::vector<OwnerReference> owners;
  std::vector<Interned> finalizers;
  const bool ok = for_each_field(message, [&](const ProtoField& field) {
    switch (field.number) {
      case 1: meta.name = field.bytes; break;
      case 3: meta.ns = Interned(field.bytes); break;
      case 5: meta.uid = field.bytes; break;
      case 6: set_version(field.bytes, meta, problem); break;
      case 7: meta.generation = static_cast<std::int64_t>(field.scalar); break;
      case 8: return read_time(field.bytes, meta.created);
      case 9: meta.deleting = true; break;
      case 11: return read_entry(field.bytes, rules.labels, labels);
      case 12: return read_entry(field.bytes, rules.annotations, meta.annotations);
      case 13: return !rules.owners || read_owner(field.bytes, owners);
      case 14:
        if (rules.finalizers) finalizers.emplace_back(field.bytes);
        break;
      default: break;
    }
    return true;
  });
  tidy(labels);
  tidy(meta.annotations);
  meta.labels = std::move(labels);
  meta.owners = std::move(owners);
  meta.finalizers = std::move(finalizers);
  return ok;
}

std::string label_of(const ResourceType& type, const ObjectMeta& meta) {
  return type.kind + " " + meta.key().to_string();
}

Result<> check(const ResourceType& type, ObjectMeta& meta, const Problem& problem) {
  if (!problem.text.empty())
    return fail(error_of(Code::invalid, "{}", problem.text).about(label_of(type, meta)));
  if (meta.name.empty()) return fail(Code::invalid, "a {} has no name", type.kind);
  if (meta.resource_version == 0)
    return fail(error_of(Code::invalid, "it has no version").about(label_of(type, meta)));
  return {};
}

}  // namespace

bool KeyFilter::keeps(std::string_view key) const {
  return all || std::any_of(prefixes.begin(), prefixes.end(),
                            [&](const std::string& prefix) { return key.starts_with(prefix); });
}

void tidy(StringMap& map) {
  const auto out_of_order = [](const auto& a, const auto& b) {
    return a.first.view() >= b.first.view();
  };
  if (std::adjacent_find(map.begin(), map.end(), out_of_order) != map.end()) {
    std::map<std::string_view, std::pair<Interned, std::string>> by_key;
    for (auto& entry : map) by_key.insert_or_assign(entry.first.view(), std::move(entry));
    map.clear();
    for (auto& [key, entry] : by_key) map.push_back(std::move(entry));
  }
  map.shrink_to_fit();
}

bool decode_map_entry(std::string_view message, std::string_view& key, std::string_view& value) {
  return for_each_field(message, [&](const ProtoField& field) {
    if (field.number == 1) key = field.bytes;
    if (field.number == 2) value = field.bytes;
    return true;
  });
}

Result<> decode_object(wire::JsonReader& reader, std::string_view text, const ResourceType& type,
                       const MetaRules& rules, ObjectMeta& meta,
                       wire::FunctionRef<void(std::string_view key, wire::JsonNode value)> rest) {
  Problem problem;
  auto read = reader.read(text, [&](std::string_view key, JsonNode value) {
    if (key == "metadata") {
      read_meta(value, rules, meta, problem);
    } else if (key == "kind") {
      const std::string_view kind = value.string();
      if (kind != type.kind) problem.note(fmt::format("its kind is {}", kind));
    } else if (key == "apiVersion") {
      const std::string_view version = value.string();
      if (version != type.api_version()) problem.note(fmt::format("its version is {}", version));
    } else {
      rest(key, value);
    }
  });
  if (!read) return fail(std::move(read.error()).about(label_of(type, meta)));
  return check(type, meta, problem);
}

Result<> decode_object(std::string_view message, const ResourceType& type, const MetaRules& rules,
                       ObjectMeta& meta,
                       wire::FunctionRef<bool(const wire::ProtoField& field)> rest) {
  Problem problem;
  const bool ok = for_each_field(message, [&](const ProtoField& field) {
    return field.number == 1 ? read_meta(field.bytes, rules, meta, problem) : rest(field);
  });
  if (!ok) {
    return fail(error_of(Code::invalid, "its protobuf is malformed").about(label_of(type, meta)));
  }
  return check(type, meta, problem);
}

ObjectIdentity identify(Encoding encoding, wire::JsonReader& reader, std::string_view object) {
  const MetaRules nothing{.labels = {}, .owners = false};
  ObjectMeta meta;
  Problem problem;
  // Errors do not matter: what was read before them is what can be told.
  if (encoding == Encoding::json) {
    (void)reader.read(object, [&](std::string_view key, JsonNode value) {
      if (key == "metadata") read_meta(value, nothing, meta, problem);
    });
  } else {
    (void)for_each_field(object, [&](const ProtoField& field) {
      return field.number != 1 || read_meta(field.bytes, nothing, meta, problem);
    });
  }
  return {.key = meta.key(), .uid = meta.uid, .resource_version = meta.resource_version};
}

}  // namespace berth::kube
