#include "sim/kube/patching.h"

#include <boost/json.hpp>

#include <fmt/format.h>

#include "sim/kube/object_meta.h"
#include "sim/kube/strategic_merge.h"
#include "wire/patch.h"
#include "wire/yaml.h"

namespace berth::sim::kube {

namespace {

constexpr std::string_view kJsonPatch = "application/json-patch+json";
constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr std::string_view kStrategicPatch = "application/strategic-merge-patch+json";
constexpr std::string_view kApplyPatch = "application/apply-patch+yaml";

}  // namespace

Outcome<PatchType> patch_type_of(std::string_view content_type, const Kind& kind) {
  content_type = content_type.substr(0, content_type.find(';'));
  while (content_type.ends_with(' ')) content_type.remove_suffix(1);
  if (content_type == kJsonPatch) return PatchType::json;
  if (content_type == kMergePatch) return PatchType::merge;
  if (content_type == kApplyPatch) return PatchType::apply;
  if (content_type == kStrategicPatch) {
    if (!kind.custom) return PatchType::strategic;
    return refuse(unsupported_media_type(
        fmt::format("the body of the request was in an unknown format - accepted media types "
                    "include: {}, {}, {}",
                    kJsonPatch, kMergePatch, kApplyPatch),
        false));
  }
  return refuse(unsupported_media_type("415: Unsupported Media Type"));
}

Outcome<wire::Value> decode_patch(PatchType type, std::string_view body) {
  Result<wire::Value> patch =
      type == PatchType::apply ? wire::parse_yaml(body) : wire::parse_json(body);
  const std::string_view what = type == PatchType::apply       ? "error decoding YAML: "
                                : type == PatchType::strategic ? ""
                                                               : "error decoding patch: ";
  if (!patch) return refuse(bad_request(std::string(what) + patch.error().message));
  const bool list = type == PatchType::json;
  if (list ? patch->is_array() : patch->is_object()) return std::move(*patch);
  const std::string_view step =
      type == PatchType::apply ? "error unmarshaling JSON: while decoding JSON: " : "";
  return refuse(bad_request(
      fmt::format("{}{}json: cannot unmarshal {} into Go value of type {}", what, step,
                  go_type(*patch), list ? "[]handlers.jsonPatchOp" : "map[string]interface {}")));
}

Outcome<wire::Value> apply_patch(PatchType type, const wire::Value& patch, wire::Value object,
                                 const ServedKind& served) {
  switch (type) {
    case PatchType::json: {
      if (patch.get_array().size() > wire::kMaxPatchOperations) {
        ApiError error =
            bad_request(fmt::format("Request entity too large: The allowed maximum operations in a "
                                    "JSON patch is {}, got {}",
                                    wire::kMaxPatchOperations, patch.get_array().size()));
        error.code = 413;
        error.reason = "RequestEntityTooLarge";
        return refuse(std::move(error));
      }
      Result<wire::Value> changed = wire::apply_json_patch(std::move(object), patch);
      if (!changed || !changed->is_object()) return refuse(invalid_patch());
      return std::move(*changed);
    }
    case PatchType::merge: return wire::apply_merge_patch(std::move(object), patch);
    case PatchType::strategic: return strategic_merge(std::move(object), patch, served);
    case PatchType::apply: break;
  }
  return refuse(invalid_patch());
}

}  // namespace berth::sim::kube
