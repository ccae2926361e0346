#include "sim/workloads/any_object.h"

#include <algorithm>
#include <boost/json.hpp>

#include "crypto/digest.h"

namespace berth::workloads {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

const kube::MetaRules kEverything{
    .annotations = kube::KeyFilter::everything(), .finalizers = true, .owners = true};

bool has_value(const Value& expression, std::string_view value) {
  return std::ranges::any_of(array_or_empty(expression, "/values"),
                             [&](const Value& one) { return one == Value(value); });
}

bool holds(const Value& expression, kube::MapView labels) {
  const std::string_view key = wire::string_at(expression, "/key");
  const std::string_view op = wire::string_at(expression, "/operator");
  const bool present = kube::has(labels, key);
  if (op == "Exists") return present;
  if (op == "DoesNotExist") return !present;
  const bool among = present && has_value(expression, kube::get(labels, key));
  return op == "In" ? among : op == "NotIn" && !among;
}

bool all_equal(const Object& map, kube::MapView labels) {
  return std::ranges::all_of(map, [&](const auto& entry) {
    return kube::has(labels, entry.key()) && entry.value() == Value(kube::get(labels, entry.key()));
  });
}

}  // namespace

namespace types {
const kube::ResourceType kControllerRevision{"apps", "v1", "controllerrevisions",
                                             "ControllerRevision"};
const kube::ResourceType kEndpointSlice{"discovery.k8s.io", "v1", "endpointslices",
                                        "EndpointSlice"};
const kube::ResourceType kGameStatefulSet{"tkex.tencent.com", "v1alpha1", "gamestatefulsets",
                                          "GameStatefulSet"};
}  // namespace types

kube::Projection<AnyObject> any_object_projection(const kube::ResourceType& type) {
  return {
      .type = type,
      .from_json = [type](wire::JsonReader& reader, std::string_view text) -> Result<AnyObject> {
        AnyObject object;
        Result<> read =
            kube::decode_object(reader, text, type, kEverything, object.meta, [](auto, auto) {});
        if (!read) return pass(read);
        Result<Value> value = wire::parse_json(text);
        if (!value) return pass(value);
        object.value = std::move(*value);
        (void)wire::remove_at(object.value, "/metadata/managedFields");
        return object;
      }};
}

Result<AnyObject> any_object(const kube::ResourceType& type, const Value& value) {
  wire::JsonReader reader;
  return any_object_projection(type).from_json(reader, wire::to_json(value));
}

std::int64_t int_or(const Value& object, std::string_view pointer, std::int64_t otherwise) {
  return wire::int_at(object, pointer).value_or(otherwise);
}

const Object& object_or_empty(const Value& object, std::string_view pointer) {
  static const Object kNone;
  const Object* found = wire::object_at(object, pointer);
  return found == nullptr ? kNone : *found;
}

const Array& array_or_empty(const Value& object, std::string_view pointer) {
  static const Array kNone;
  const Array* found = wire::array_at(object, pointer);
  return found == nullptr ? kNone : *found;
}

bool selects(const Value* selector, kube::MapView labels) {
  if (selector == nullptr || !selector->is_object()) return false;
  return all_equal(object_or_empty(*selector, "/matchLabels"), labels) &&
         std::ranges::all_of(array_or_empty(*selector, "/matchExpressions"),
                             [&](const Value& expression) { return holds(expression, labels); });
}

bool selects(const Object& map, kube::MapView labels) {
  return !map.empty() && all_equal(map, labels);
}

std::int64_t scaled_value(const Value* value, std::int64_t total, bool round_up,
                          std::int64_t otherwise) {
  if (value == nullptr) return otherwise;
  if (value->is_int64()) return value->get_int64();
  if (!value->is_string() || !value->get_string().ends_with('%')) return otherwise;
  const std::int64_t percent = std::atoll(value->get_string().c_str());
  return (total * percent + (round_up ? 99 : 0)) / 100;
}

const Value* find_condition(const Array& conditions, std::string_view type) {
  const auto found = std::ranges::find_if(
      conditions, [&](const Value& one) { return wire::string_at(one, "/type") == type; });
  return found == conditions.end() ? nullptr : &*found;
}

void set_condition(Array& conditions, const Condition& condition, WallTime now) {
  const std::string time = format_rfc3339(now);
  const Value* before = find_condition(conditions, condition.type);
  const std::string_view status = condition.holds ? "True" : "False";
  const bool same = before != nullptr && wire::string_at(*before, "/status") == status;
  Object next{{"type", condition.type}, {"status", status}};
  next["lastTransitionTime"] =
      same ? std::string(wire::string_at(*before, "/lastTransitionTime")) : time;
  if (!condition.reason.empty()) next["reason"] = condition.reason;
  if (!condition.message.empty()) next["message"] = condition.message;
  if (before == nullptr) {
    conditions.push_back(std::move(next));
  } else {
    conditions[static_cast<std::size_t>(before - conditions.data())] = std::move(next);
  }
}

void remove_condition(Array& conditions, std::string_view type) {
  const Value* found = find_condition(conditions, type);
  if (found != nullptr) conditions.erase(conditions.begin() + (found - conditions.data()));
}

std::string content_hash(const Value& content) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  constexpr std::size_t kLength = 10;
  std::string out;
  for (const char c : crypto::sha256(wire::to_json(content)).substr(0, kLength)) {
    out += kAlphabet[static_cast<unsigned char>(c) % kAlphabet.size()];
  }
  return out;
}

}  // namespace berth::workloads
