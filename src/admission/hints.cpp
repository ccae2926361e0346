#include "admission/hints.h"

#include "admission/pod_patch.h"
#include "admission/port_wishes.h"

namespace berth::admission {
namespace {

using kube::AdmissionAnswer;
using kube::AdmissionRequest;
using wire::Value;

const Value* template_of(const Value& workload) { return wire::find(workload, "/spec/template"); }

}  // namespace

AdmissionAnswer hint_template(const AdmissionRequest& request) {
  const Value* const pods = template_of(request.object);
  if (!pods || !asks_for_ports(request.object) || has_annotation(*pods, api::kPortPoolsAnnotation))
    return {};
  return {.warnings = {fmt::format(
              "annotation {} of {} is not in its template: its Pods get no ports; put it, and "
              "ports.portpools..., into spec.template.metadata.annotations",
              api::kPortPoolsAnnotation, request.describe())}};
}

AdmissionAnswer hint_namespace(const AdmissionRequest& request) {
  const Value* const pods = template_of(request.object);
  if (!asks_for_ports(pods ? *pods : request.object)) return {};
  return {.warnings = {fmt::format(
              "{} asks for ports of a pool, and namespace {} has no label {}=true: no ports are "
              "given; kubectl label namespace {} {}=true",
              request.describe(), request.ns, api::kInjectLabel, request.ns, api::kInjectLabel)}};
}

}  // namespace berth::admission
