#include "sim/kube/object_meta.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include <fmt/format.h>

namespace berth::sim::kube {

namespace {

// Without vowels and what looks like them, so that no words come out.
constexpr std::string_view kSuffixAlphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::size_t kSuffixLength = 5;
constexpr std::size_t kMaxGeneratedPrefix = 58;

constexpr std::array<std::string_view, 14> kKnownFields = {"name",
                                                           "generateName",
                                                           "namespace",
                                                           "uid",
                                                           "resourceVersion",
                                                           "generation",
                                                           "creationTimestamp",
                                                           "deletionTimestamp",
                                                           "deletionGracePeriodSeconds",
                                                           "labels",
                                                           "annotations",
                                                           "ownerReferences",
                                                           "managedFields",
                                                           "finalizers"};

bool is_empty(const wire::Value& value) {
  if (value.is_null()) return true;
  if (value.is_object()) return value.get_object().empty();
  if (value.is_array()) return value.get_array().empty();
  return value.is_string() && value.get_string().empty();
}

// Go's complaint about a value of the wrong type. Custom kinds are decoded in two steps, which
// shows.
ApiError wrong_type(const Kind& kind, std::string_view field, const wire::Value& value,
                    std::string_view wanted) {
  return bad_request(
      fmt::format("json: cannot unmarshal {} into Go struct field ObjectMeta.{}{} of type {}",
                  go_type(value), kind.custom ? "" : "metadata.", field, wanted));
}

Outcome<> check_types(const Kind& kind, std::string_view field, const wire::Value& value) {
  if (value.is_null()) return {};
  const auto check = [&](const wire::Value& one) -> Outcome<> {
    if (one.is_string() || one.is_null()) return {};
    return refuse(wrong_type(kind, field, one, "string"));
  };
  if (field == "labels" || field == "annotations") {
    if (!value.is_object()) return refuse(wrong_type(kind, field, value, "map[string]string"));
    for (const auto& entry : value.get_object()) {
      if (Outcome<> fine = check(entry.value()); !fine) return fine;
    }
  } else if (field == "finalizers") {
    if (!value.is_array()) return refuse(wrong_type(kind, field, value, "[]string"));
    for (const wire::Value& entry : value.get_array()) {
      if (Outcome<> fine = check(entry); !fine) return fine;
    }
  } else if (field == "ownerReferences") {
    if (!value.is_array()) return refuse(wrong_type(kind, field, value, "[]v1.OwnerReference"));
  } else if (field == "managedFields") {
    // A stored object has a text here (managed_entries.h).
    if (value.is_array() || value.is_string()) return {};
    return refuse(wrong_type(kind, field, value, "[]v1.ManagedFieldsEntry"));
  } else if (field == "name" || field == "generateName" || field == "namespace" || field == "uid" ||
             field == "resourceVersion") {
    return check(value);
  }
  return {};
}

void nulls_to_empty(wire::Value& value) {
  if (!value.is_object()) return;
  for (auto& entry : value.get_object()) {
    if (entry.value().is_null()) entry.value() = "";
  }
}

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool is_lower_alnum(char c) { return is_alnum(c) && !(c >= 'A' && c <= 'Z'); }

// [a-z0-9]([-a-z0-9]*[a-z0-9])?
bool is_dns_label(std::string_view text) {
  if (text.empty() || !is_lower_alnum(text.front()) || !is_lower_alnum(text.back())) return false;
  return std::ranges::all_of(text, [](char c) { return is_lower_alnum(c) || c == '-'; });
}

bool is_dns_subdomain(std::string_view text) {
  for (;;) {
    const std::size_t dot = text.find('.');
    if (!is_dns_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

// ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]
bool is_qualified_part(std::string_view text) {
  if (text.empty() || !is_alnum(text.front()) || !is_alnum(text.back())) return false;
  return std::ranges::all_of(
      text, [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

constexpr std::string_view kSubdomainMessage =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelMessage =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kNamePartMessage =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValueMessage =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

std::string too_long(std::size_t limit) {
  return fmt::format("must be no more than {} characters", limit);
}

void check_labels(const wire::Value& object, Causes& causes) {
  const wire::Object* labels = wire::object_at(object, "/metadata/labels");
  if (labels == nullptr) return;
  for (const auto& label : *labels) {
    const std::string key(label.key());
    for (const std::string& defect : qualified_name_defects(key)) {
      causes.push_back(invalid_value("metadata.labels", wire::Value(key.c_str()), defect));
    }
    for (const std::string& defect : label_value_defects(label.value().get_string())) {
      causes.push_back(invalid_value("metadata.labels", label.value(), defect));
    }
  }
}

void check_annotations(const wire::Value& object, Causes& causes) {
  const wire::Object* annotations = wire::object_at(object, "/metadata/annotations");
  if (annotations == nullptr) return;
  std::size_t total = 0;
  for (const auto& annotation : *annotations) {
    std::string key(annotation.key());
    total += key.size() + annotation.value().get_string().size();
    std::ranges::transform(key, key.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    for (const std::string& defect : qualified_name_defects(key)) {
      causes.push_back(
          invalid_value("metadata.annotations", wire::Value(annotation.key()), defect));
    }
  }
  if (total > kMaxAnnotationBytes) {
    causes.push_back({"FieldValueTooLong",
                      fmt::format("Too long: may not be more than {} bytes", kMaxAnnotationBytes),
                      "metadata.annotations"});
  }
}

void check_owners(const wire::Value& object, Causes& causes) {
  const wire::Array* owners = wire::array_at(object, "/metadata/ownerReferences");
  if (owners == nullptr) return;
  for (const wire::Value& owner : *owners) {
    for (const std::string_view field : {"apiVersion", "kind", "name", "uid"}) {
      if (!wire::string_at(owner, "/" + std::string(field)).empty()) continue;
      causes.push_back(
          invalid_value(fmt::format("metadata.ownerReferences.{}", field), wire::Value(""),
                        field == "apiVersion" ? "version must not be empty" : "must not be empty"));
    }
  }
  std::vector<std::string> controllers;
  for (const wire::Value& owner : *owners) {
    if (!wire::bool_at(owner, "/controller").value_or(false)) continue;
    controllers.push_back(
        fmt::format("{}/{}", wire::string_at(owner, "/kind"), wire::string_at(owner, "/name")));
  }
  if (controllers.size() < 2) return;
  causes.push_back(
      invalid_value("metadata.ownerReferences", *owners,
                    fmt::format("Only one reference can have Controller set to true. Found "
                                "\"true\" in references for {} and {}",
                                controllers[0], controllers[1])));
}

void check_finalizers(const Kind& kind, const wire::Value& object, Causes& causes) {
  const std::vector<std::string> finalizers = finalizers_of(object);
  for (std::size_t i = 0; i < finalizers.size(); ++i) {
    const std::string& name = finalizers[i];
    for (const std::string& defect : qualified_name_defects(name)) {
      causes.push_back(invalid_value("metadata.finalizers", wire::Value(name.c_str()), defect));
    }
    const bool standard = name == "orphan" || name == "foregroundDeletion" || name == "kubernetes";
    if (!kind.custom && !standard && name.find('/') == std::string::npos) {
      causes.push_back(
          invalid_value(fmt::format("metadata.finalizers[{}]", i), wire::Value(name.c_str()),
                        "name is neither a standard finalizer name nor is it fully qualified"));
    }
  }
}

}  // namespace

std::string_view go_type(const wire::Value& value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  if (value.is_number()) return "number";
  return value.is_array() ? "array" : "object";
}

std::string_view name_of(const wire::Value& object) {
  return wire::string_at(object, "/metadata/name");
}
std::string_view namespace_of(const wire::Value& object) {
  return wire::string_at(object, "/metadata/namespace");
}
std::string_view version_of(const wire::Value& object) {
  return wire::string_at(object, "/metadata/resourceVersion");
}
bool is_deleting(const wire::Value& object) {
  return wire::find(object, "/metadata/deletionTimestamp") != nullptr;
}

std::vector<std::string> finalizers_of(const wire::Value& object) {
  std::vector<std::string> names;
  const wire::Array* list = wire::array_at(object, "/metadata/finalizers");
  if (list == nullptr) return names;
  for (const wire::Value& one : *list) {
    if (one.is_string()) names.emplace_back(one.get_string());
  }
  return names;
}

wire::Object& metadata_of(wire::Value& object) {
  return object.get_object()["metadata"].get_object();
}

Outcome<> normalize_metadata(const Kind& kind, wire::Value& object,
                             std::vector<std::string>& unknown) {
  wire::Value& metadata = object.get_object()["metadata"];
  if (metadata.is_null()) metadata.emplace_object();
  if (!metadata.is_object()) {
    return refuse(bad_request(
        fmt::format("json: cannot unmarshal {} into Go {} of type v1.ObjectMeta", go_type(metadata),
                    kind.custom ? "value" : fmt::format("struct field {}.metadata", kind.kind))));
  }
  wire::Object kept;
  for (auto& field : metadata.get_object()) {
    const std::string_view key = field.key();
    if (key == "selfLink") continue;
    if (std::ranges::find(kKnownFields, key) == kKnownFields.end()) {
      unknown.push_back("metadata." + std::string(key));
      continue;
    }
    if (Outcome<> fine = check_types(kind, key, field.value()); !fine) return fine;
    nulls_to_empty(field.value());
    // An empty list of owners takes those away that are there.
    const bool reset = key == "managedFields" && field.value().is_array();
    if (reset || !is_empty(field.value())) kept[key] = std::move(field.value());
  }
  metadata = std::move(kept);
  return {};
}

std::vector<std::string> name_defects(NameRule rule, std::string_view name, bool prefix) {
  std::vector<std::string> defects;
  if (rule == NameRule::path_segment) {
    if (name == "." || name == "..") defects.push_back(fmt::format("may not be '{}'", name));
    for (const char c : {'/', '%'}) {
      if (name.find(c) != std::string_view::npos) {
        defects.push_back(fmt::format("may not contain '{}'", c));
      }
    }
    return defects;
  }
  std::string checked(name);
  if (prefix && checked.ends_with('-')) checked.back() = 'a';
  const bool label = rule == NameRule::label;
  const std::size_t limit = label ? 63 : 253;
  if (label && checked.find('.') != std::string::npos) {
    defects.emplace_back("must not contain dots");
  } else if (label ? !is_dns_label(checked) : !is_dns_subdomain(checked)) {
    defects.emplace_back(label ? kLabelMessage : kSubdomainMessage);
  }
  if (checked.size() > limit) defects.insert(defects.begin(), too_long(limit));
  return defects;
}

std::vector<std::string> qualified_name_defects(std::string_view name) {
  std::vector<std::string> defects;
  if (const std::size_t slash = name.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = name.substr(0, slash);
    name.remove_prefix(slash + 1);
    if (prefix.empty()) {
      defects.emplace_back("prefix part must be non-empty");
    } else if (!is_dns_subdomain(prefix)) {
      defects.push_back("prefix part " + std::string(kSubdomainMessage));
    } else if (prefix.size() > 253) {
      defects.push_back("prefix part " + too_long(253));
    }
  }
  if (name.empty()) {
    defects.emplace_back("name part must be non-empty");
  } else if (name.size() > 63) {
    defects.push_back("name part " + too_long(63));
  }
  if (!is_qualified_part(name)) defects.emplace_back(kNamePartMessage);
  return defects;
}

std::vector<std::string> label_value_defects(std::string_view value) {
  std::vector<std::string> defects;
  if (value.size() > 63) defects.push_back(too_long(63));
  if (!value.empty() && !is_qualified_part(value)) defects.emplace_back(kLabelValueMessage);
  return defects;
}

Causes validate_metadata(const Kind& kind, const wire::Value& object) {
  Causes causes;
  const std::string_view prefix = wire::string_at(object, "/metadata/generateName");
  for (const std::string& defect : name_defects(kind.names, prefix, true)) {
    if (prefix.empty()) break;
    causes.push_back(invalid_value("metadata.generateName", wire::Value(prefix), defect));
  }
  const std::string_view name = name_of(object);
  if (name.empty()) {
    causes.push_back(required_value("metadata.name", "name or generateName is required"));
  } else {
    for (const std::string& defect : name_defects(kind.names, name, false)) {
      causes.push_back(invalid_value("metadata.name", wire::Value(name), defect));
    }
  }
  if (!kind.namespaced && !namespace_of(object).empty()) {
    causes.push_back(forbidden_value("metadata.namespace", "not allowed on this type"));
  }
  check_labels(object, causes);
  check_annotations(object, causes);
  check_owners(object, causes);
  check_finalizers(kind, object, causes);
  return causes;
}

Causes validate_metadata_update(const wire::Value& object, const wire::Value& old) {
  Causes causes;
  if (is_deleting(old)) {
    const std::vector<std::string> before = finalizers_of(old);
    std::vector<std::string> added;
    for (const std::string& name : finalizers_of(object)) {
      if (std::ranges::find(before, name) == before.end()) added.push_back('"' + name + '"');
    }
    std::ranges::sort(added);
    if (!added.empty()) {
      causes.push_back(forbidden_value(
          "metadata.finalizers",
          fmt::format("no new finalizers can be added if the object is being deleted, found new "
                      "finalizers []string{{{}}}",
                      fmt::join(added, ", "))));
    }
  }
  if (const auto uid = wire::string_at(object, "/metadata/uid");
      uid != wire::string_at(old, "/metadata/uid")) {
    causes.push_back(invalid_value("metadata.uid", wire::Value(uid), "field is immutable"));
  }
  for (const std::string key : {"deletionTimestamp", "deletionGracePeriodSeconds"}) {
    const wire::Value* next = wire::find(object, "/metadata/" + key);
    const wire::Value* before = wire::find(old, "/metadata/" + key);
    if (next == nullptr || (before != nullptr && *next == *before)) continue;
    causes.push_back(invalid_value("metadata." + key, *next, "field is immutable"));
  }
  return causes;
}

void fill_new_metadata(const Kind& kind, wire::Value& object, WallTime now, Random& random) {
  wire::Object& metadata = metadata_of(object);
  const std::string_view prefix = wire::string_at(object, "/metadata/generateName");
  if (name_of(object).empty() && !prefix.empty()) {
    metadata["name"] = std::string(prefix.substr(0, kMaxGeneratedPrefix)) + random_suffix(random);
  }
  metadata["uid"] = random_uid(random);
  metadata["creationTimestamp"] = format_rfc3339(now);
  metadata.erase("generation");
  if (kind.has_generation) metadata["generation"] = 1;
}

void keep_system_metadata(wire::Value& object, const wire::Value& old) {
  wire::Object& metadata = metadata_of(object);
  const wire::Object& before = *wire::object_at(old, "/metadata");
  // A change of these is refused later.
  for (const char* key : {"deletionTimestamp", "deletionGracePeriodSeconds"}) {
    const wire::Value* value = before.if_contains(key);
    if (value != nullptr && !metadata.contains(key)) metadata[key] = *value;
  }
  for (const char* key : {"creationTimestamp", "generation", "generateName"}) {
    if (const wire::Value* value = before.if_contains(key)) {
      metadata[key] = *value;
    } else {
      metadata.erase(key);
    }
  }
  if (!metadata.contains("uid")) metadata["uid"] = before.at("uid");
}

std::string random_uid(Random& random) {
  const std::uint64_t high = random.next();
  const std::uint64_t low = random.next();
  // Version 4 and the RFC's variant bits.
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xfff, 0x8000 | ((low >> 48) & 0x3fff), low & 0xffff'ffff'ffff);
}

std::string random_suffix(Random& random) {
  std::string suffix;
  while (suffix.size() < kSuffixLength) {
    suffix += kSuffixAlphabet[random.below(kSuffixAlphabet.size())];
  }
  return suffix;
}

}  // namespace berth::sim::kube
