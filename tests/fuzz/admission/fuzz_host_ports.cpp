// Whatever a Pod looks like, it is refused with a reason, or gets a patch that fits it; and when
// the API server calls again with what came of that, nothing changes any more.
#include <boost/json.hpp>

#include "admission/host_ports.h"
#include "admission/pod_patch.h"
#include "api/host_ports.h"
#include "base/threads.h"
#include "check.h"
#include "wire/patch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  using fuzz::check;
  static ThreadTasks tasks;
  const Context context{.tasks = tasks};
  const auto pod = wire::parse_json(fuzz::as_text(data, size));
  if (!pod) return 0;
  admission::HostPorts hooks({20000, 20009}, Random(1));
  kube::AdmissionRequest request;
  request.operation = "CREATE";
  request.ns = "games";
  request.resource = "pods";
  request.object = *pod;

  const auto answer = hooks.admit(context, request);
  if (!answer) {
    check(answer.error().object.starts_with(wire::string_at(*pod, "/kind")), "it names the Pod");
    check(!answer.error().field.empty(), "it names the field");
    check(!answer.error().message.empty(), "it says why");
    return 0;
  }
  const auto changed = wire::apply_json_patch(*pod, answer->patch);
  check(changed.has_value(), "the patch fits the Pod");
  // The API server has typed maps; with anything else in their place nothing can be remembered.
  const wire::Value* labels = wire::find(*pod, "/metadata/labels");
  if (labels && !labels->is_null() && !labels->is_object()) return 0;
  request.object = *changed;
  const auto again = hooks.admit(context, request);
  check(again.has_value(), "what we made of it is admitted");
  check(again->patch.empty(), "and stays as it is");
  return 0;
}
