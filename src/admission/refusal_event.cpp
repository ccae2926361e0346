#include "admission/refusal_event.h"

#include <boost/json.hpp>

namespace berth::admission {

std::optional<kube::EventNote> refusal_event(const kube::AdmissionRequest& request,
                                             const Error& error) {
  if (request.dry_run) return std::nullopt;
  const wire::Array* owners = wire::array_at(request.object, "/metadata/ownerReferences");
  for (const wire::Value& owner : owners ? *owners : wire::Array{}) {
    if (!wire::bool_at(owner, "/controller").value_or(false)) continue;
    return kube::EventNote{
        .target = {.api_version = std::string(wire::string_at(owner, "/apiVersion")),
                   .kind = std::string(wire::string_at(owner, "/kind")),
                   .ns = request.ns,
                   .name = std::string(wire::string_at(owner, "/name")),
                   .uid = std::string(wire::string_at(owner, "/uid"))},
        .type = "Warning",
        .reason = std::string(kAllocatePortFailedReason),
        .message = error.to_string()};
  }
  return std::nullopt;
}

}  // namespace berth::admission
