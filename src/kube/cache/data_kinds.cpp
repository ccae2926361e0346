// Namespace and ConfigMap: kinds that are little more than metadata and a map.
#include <algorithm>

#include "kube/cache/core_types.h"

namespace berth::kube {
namespace {

using wire::JsonNode;
using wire::ProtoField;

// Go writes maps in the order of their keys; whoever does not is put in order.
template <class Data>
void sort_by_key(Data& data) {
  std::sort(data.begin(), data.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

template <class Data>
auto find_key(Data& data, std::string_view key) {
  const auto at =
      std::lower_bound(data.begin(), data.end(), key,
                       [](const auto& entry, std::string_view k) { return entry.first < k; });
  return at != data.end() && at->first == key ? at : data.end();
}

Result<Namespace> namespace_from_json(const MetaRules& rules, wire::JsonReader& reader,
                                      std::string_view text) {
  Namespace out;
  auto decoded = decode_object(reader, text, types::kNamespace, rules, out.meta,
                               [](std::string_view, JsonNode) {});
  if (!decoded) return pass(decoded);
  return out;
}

Result<Namespace> namespace_from_protobuf(const MetaRules& rules, std::string_view message) {
  Namespace out;
  auto decoded = decode_object(message, types::kNamespace, rules, out.meta,
                               [](const ProtoField&) { return true; });
  if (!decoded) return pass(decoded);
  return out;
}

Result<ConfigMap> config_map_from_json(const MetaRules& rules, wire::JsonReader& reader,
                                       std::string_view text) {
  ConfigMap out;
  auto decoded = decode_object(reader, text, types::kConfigMap, rules, out.meta,
                               [&](std::string_view key, JsonNode value) {
                                 if (key != "data") return;
                                 value.fields([&](std::string_view name, JsonNode content) {
                                   out.data.emplace_back(name, content.string());
                                 });
                               });
  if (!decoded) return pass(decoded);
  sort_by_key(out.data);
  return out;
}

Result<ConfigMap> config_map_from_protobuf(const MetaRules& rules, std::string_view message) {
  ConfigMap out;
  auto decoded =
      decode_object(message, types::kConfigMap, rules, out.meta, [&](const ProtoField& field) {
        if (field.number != 2) return true;
        std::string_view key;
        std::string_view value;
        if (!decode_map_entry(field.bytes, key, value)) return false;
        out.data.emplace_back(key, value);
        return true;
      });
  if (!decoded) return pass(decoded);
  sort_by_key(out.data);
  return out;
}

}  // namespace

std::string_view ConfigMap::get(std::string_view key) const {
  const auto at = find_key(data, key);
  return at == data.end() ? std::string_view() : std::string_view(at->second);
}

Projection<Namespace> namespace_projection(MetaRules rules, Selection selection) {
  return make_projection(types::kNamespace, std::move(rules), std::move(selection),
                         &namespace_from_json, &namespace_from_protobuf);
}
Projection<ConfigMap> config_map_projection(MetaRules rules, Selection selection) {
  return make_projection(types::kConfigMap, std::move(rules), std::move(selection),
                         &config_map_from_json, &config_map_from_protobuf);
}

}  // namespace berth::kube
