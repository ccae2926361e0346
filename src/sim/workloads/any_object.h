// An object as it stands on the server, for kinds of which a controller needs more than a
// projection keeps: templates are copied, statuses are rewritten. Plain values and pure functions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/cache/object_meta.h"
#include "kube/cache/pod.h"
#include "kube/cache/projection.h"
#include "wire/value.h"

namespace berth::workloads {

struct AnyObject {
  kube::ObjectMeta meta{};
  wire::Value value{};
};
using AnyPtr = std::shared_ptr<const AnyObject>;
using AnyList = std::vector<AnyPtr>;
using PodPtr = std::shared_ptr<const kube::Pod>;
using PodList = std::vector<PodPtr>;

kube::Projection<AnyObject> any_object_projection(const kube::ResourceType& type);
Result<AnyObject> any_object(const kube::ResourceType& type, const wire::Value& value);

// Kinds of the workload API that `kube/client/resource.h` has no use for.
namespace types {
extern const kube::ResourceType kControllerRevision, kEndpointSlice, kGameStatefulSet;
}  // namespace types

// The value there, or another one.
std::int64_t int_or(const wire::Value& object, std::string_view pointer, std::int64_t otherwise);
// An empty object when nothing is there.
const wire::Object& object_or_empty(const wire::Value& object, std::string_view pointer);
const wire::Array& array_or_empty(const wire::Value& object, std::string_view pointer);

// A `metav1.LabelSelector`. None at all selects nothing, an empty one everything.
bool selects(const wire::Value* selector, kube::MapView labels);
// A plain map of labels, as Services have it. An empty one selects nothing.
bool selects(const wire::Object& map, kube::MapView labels);

// "25%" of a total, or a plain number.
std::int64_t scaled_value(const wire::Value* value, std::int64_t total, bool round_up,
                          std::int64_t otherwise);

// Sets the condition of that type; the time of the last transition moves only with the status.
struct Condition {
  std::string_view type;
  bool holds = true;
  std::string_view reason{};
  std::string_view message{};
};
void set_condition(wire::Array& conditions, const Condition& condition, WallTime now);
void remove_condition(wire::Array& conditions, std::string_view type);
const wire::Value* find_condition(const wire::Array& conditions, std::string_view type);

// A short name for a content: letters and digits that cannot form words, as the real ones are.
std::string content_hash(const wire::Value& content);

}  // namespace berth::workloads
