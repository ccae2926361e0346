#include "report/workloads.h"

#include <array>
#include <boost/json.hpp>

namespace berth::report {
namespace {

const kube::ResourceType kGameStatefulSet{.group = "tkex.tencent.com",
                                          .version = "v1alpha1",
                                          .plural = "gamestatefulsets",
                                          .kind = "GameStatefulSet"};

}  // namespace

std::span<const KnownKind> known_kinds() {
  static const std::array<KnownKind, 5> kKinds{{{"pod", "po", &kube::types::kPod},
                                                {"deployment", "deploy", &kube::types::kDeployment},
                                                {"statefulset", "sts", &kube::types::kStatefulSet},
                                                {"replicaset", "rs", &kube::types::kReplicaSet},
                                                {"gamestatefulset", "", &kGameStatefulSet}}};
  return kKinds;
}

const kube::ResourceType* type_of_kind(std::string_view kind) {
  for (const KnownKind& one : known_kinds())
    if (one.type->kind == kind) return one.type;
  return nullptr;
}

Result<wire::Value> find_object(const Context& context, kube::Client& client,
                                const kube::ResourceType& type, const kube::ObjectKey& key) {
  Result<wire::Value> found = client.get(context, type, key);
  const bool absent =
      !found && (found.error().code == Code::not_found || found.error().code == Code::forbidden ||
                 found.error().code == Code::unsupported);
  if (absent) return wire::Value();
  if (!found) return found;
  if (found->is_object() && !found->get_object().contains("kind"))
    found->get_object()["kind"] = type.kind;
  return found;
}

const wire::Value* controller_of(const wire::Value& object) {
  const wire::Array* owners = wire::array_at(object, "/metadata/ownerReferences");
  if (!owners) return nullptr;
  for (const wire::Value& owner : *owners) {
    if (wire::bool_at(owner, "/controller").value_or(false)) return &owner;
  }
  return nullptr;
}

}  // namespace berth::report
