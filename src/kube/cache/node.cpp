#include <algorithm>

#include "kube/cache/core_types.h"

namespace berth::kube {
namespace {

using wire::JsonNode;
using wire::ProtoField;

constexpr std::string_view kReady = "Ready";

void read_spec(JsonNode node, Node& out) {
  node.fields([&](std::string_view key, JsonNode value) {
    if (key == "unschedulable") out.unschedulable = value.boolean();
  });
}

void read_condition(JsonNode node, Node& out) {
  std::string_view type;
  ConditionStatus status{};
  node.fields([&](std::string_view key, JsonNode value) {
    if (key == "type") type = value.string();
    if (key == "status") status = condition_status(value.string());
  });
  if (type == kReady) out.ready = status == ConditionStatus::yes;
}

void read_address(JsonNode node, Node& out) {
  NodeAddress& address = out.addresses.emplace_back();
  node.fields([&](std::string_view key, JsonNode value) {
    if (key == "type") address.type = Interned(value.string());
    if (key == "address") address.address = value.string();
  });
}

void read_status(JsonNode node, Node& out) {
  node.fields([&](std::string_view key, JsonNode value) {
    if (key == "conditions") value.items([&](JsonNode item) { read_condition(item, out); });
    if (key == "addresses") value.items([&](JsonNode item) { read_address(item, out); });
  });
}

bool read_spec(std::string_view message, Node& out) {
  return for_each_field(message, [&](const ProtoField& field) {
    if (field.number == 4) out.unschedulable = field.scalar != 0;
    return true;
  });
}

bool read_condition(std::string_view message, Node& out) {
  std::string_view type;
  ConditionStatus status{};
  const bool ok = for_each_field(message, [&](const ProtoField& field) {
    if (field.number == 1) type = field.bytes;
    if (field.number == 2) status = condition_status(field.bytes);
    return true;
  });
  if (type == kReady) out.ready = status == ConditionStatus::yes;
  return ok;
}

bool read_address(std::string_view message, Node& out) {
  NodeAddress& address = out.addresses.emplace_back();
  return for_each_field(message, [&](const ProtoField& field) {
    if (field.number == 1) address.type = Interned(field.bytes);
    if (field.number == 2) address.address = field.bytes;
    return true;
  });
}

bool read_status(std::string_view message, Node& out) {
  return for_each_field(message, [&](const ProtoField& field) {
    if (field.number == 4) return read_condition(field.bytes, out);
    return field.number != 5 || read_address(field.bytes, out);
  });
}

Result<Node> node_from_json(const MetaRules& rules, wire::JsonReader& reader,
                            std::string_view text) {
  Node out;
  auto decoded = decode_object(reader, text, types::kNode, rules, out.meta,
                               [&](std::string_view key, JsonNode value) {
                                 if (key == "spec") read_spec(value, out);
                                 if (key == "status") read_status(value, out);
                               });
  if (!decoded) return pass(decoded);
  return out;
}

Result<Node> node_from_protobuf(const MetaRules& rules, std::string_view message) {
  Node out;
  auto decoded =
      decode_object(message, types::kNode, rules, out.meta, [&](const ProtoField& field) {
        if (field.number == 2) return read_spec(field.bytes, out);
        return field.number != 3 || read_status(field.bytes, out);
      });
  if (!decoded) return pass(decoded);
  return out;
}

}  // namespace

std::string_view Node::address(std::string_view type) const {
  const auto at = std::find_if(addresses.begin(), addresses.end(),
                               [&](const NodeAddress& a) { return a.type == type; });
  return at == addresses.end() ? std::string_view() : std::string_view(at->address);
}

Projection<Node> node_projection(MetaRules rules, Selection selection) {
  return make_projection(types::kNode, std::move(rules), std::move(selection), &node_from_json,
                         &node_from_protobuf);
}

}  // namespace berth::kube
