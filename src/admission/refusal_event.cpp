#include "admission/refusal_event.h"

#include <boost/json.hpp>

#include "claims/exhausted.h"

namespace berth::admission {
namespace {

// The same for every Pod of the workload that is refused for the same reason, so that the event is
// counted up and not written anew: which Pod, how many ports are in use and by whom is told to its
// creator, whose own event has it.
std::string message_of(const Error& error) {
  std::string text;
  if (!error.object.empty() && !error.object.starts_with("Pod ")) text += error.object + ": ";
  if (!error.field.empty()) text += error.field + ": ";
  const std::string lasting = claims::without_counts(error);
  text += lasting;
  // What to do about a full pool changes with the counts.
  if (!error.hint.empty() && lasting == error.message)
    text += fmt::format(" (hint: {})", error.hint);
  if (error.cause) text += ": " + error.cause->message;
  return text;
}

}  // namespace

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
        .message = message_of(error)};
  }
  return std::nullopt;
}

}  // namespace berth::admission
