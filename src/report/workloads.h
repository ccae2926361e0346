// The kinds that reports know by name: Pods, and the workloads that make them. Pure but for `find`.
#pragma once

#include <span>
#include <string_view>

#include "base/context.h"
#include "kube/client/client.h"

namespace berth::report {

struct KnownKind {
  std::string_view word;        // as kubectl has it
  std::string_view short_word;  // "sts"; empty when it has none
  const kube::ResourceType* type;
};
std::span<const KnownKind> known_kinds();
// Of "StatefulSet"; null for a kind that is none of them.
const kube::ResourceType* type_of_kind(std::string_view kind);

// Null when it is not there, or not for us to see. It has a `kind`.
Result<wire::Value> find_object(const Context& context, kube::Client& client,
                                const kube::ResourceType& type, const kube::ObjectKey& key);

// The owner that manages the object; null when there is none.
const wire::Value* controller_of(const wire::Value& object);

}  // namespace berth::report
