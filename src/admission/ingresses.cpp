#include "admission/ingresses.h"

#include <algorithm>

#include "api/decode.h"
#include "api/provider_warnings.h"

namespace berth::admission {
namespace {

using kube::AdmissionAnswer;
using kube::AdmissionRequest;

bool is_same(const wire::Value& before, const wire::Value& after, std::string_view pointer) {
  const wire::Value* const a = wire::find(before, pointer);
  const wire::Value* const b = wire::find(after, pointer);
  return a && b ? *a == *b : a == b;
}

// One from before our rules, or under another controller's, must still get labels and finalizers;
// its status says what is wrong with it.
bool keeps_what_counts(const AdmissionRequest& request) {
  return request.operation == "UPDATE" && is_same(request.old_object, request.object, "/spec") &&
         is_same(request.old_object, request.object, "/metadata/annotations");
}

Self self_of(const api::Ingress& ingress) {
  return {api::ingress_kind().type.kind, ingress.meta.key()};
}

}  // namespace

Result<AdmissionAnswer> IngressGate::admit(const AdmissionRequest& request) const {
  // It is on its way out: nothing may hold its finalizers back.
  if (!wire::string_at(request.object, "/metadata/deletionTimestamp").empty() ||
      keeps_what_counts(request))
    return AdmissionAnswer{};
  Result<api::Ingress> ingress = api::decode_incoming_ingress(request.object);
  if (!ingress) return fail(std::move(ingress.error()).about(request.describe()));
  const Result<api::IngressLoadBalancers> written = api::load_balancers_of(*ingress);
  if (!written) return fail(written.error());
  const claims::TextsOf whose{
      .kind = api::ingress_kind().type.kind, .key = ingress->meta.key(), .uid = ingress->meta.uid};
  const model::Reading reading = resolver_.reading_of(whose, written->texts);
  if (Result<> valid = api::validate(*ingress, reading); !valid) return pass(valid);
  const auto lbs = resolver_.load_balancers_of(whose, written->texts);
  // What a name means may not be known yet: who has the ports is said by the status then.
  if (!lbs) return AdmissionAnswer{.warnings = api::warnings_about(*ingress)};
  for (const model::LoadBalancerRef& lb : *lbs) {
    if (Result<> fits = api::validate_segments(*ingress, lb, neighbours_.type_of(lb)); !fits)
      return pass(fits);
  }
  if (Result<> free = check_ports(*ingress, *lbs); !free) return pass(free);
  return AdmissionAnswer{.warnings = warnings_about(*ingress, *lbs)};
}

Result<> IngressGate::check_ports(const api::Ingress& ingress,
                                  const std::vector<model::LoadBalancerRef>& lbs) const {
  for (const model::LoadBalancerRef& lb : lbs) {
    for (const api::IngressPorts& wanted : api::ports_of(ingress)) {
      const auto granted =
          neighbours_.granted(self_of(ingress), {lb, wanted.transport, wanted.ports});
      if (!granted) continue;
      return fail(error_of(Code::conflict, "{}", *granted)
                      .about("Ingress " + ingress.meta.key().to_string())
                      .at(wanted.field)
                      .with_hint("choose other ports, or another load balancer"));
    }
  }
  return {};
}

std::vector<std::string> IngressGate::warnings_about(
    const api::Ingress& ingress, const std::vector<model::LoadBalancerRef>& lbs) const {
  std::set<model::Provider> providers;
  for (const model::LoadBalancerRef& lb : lbs) providers.insert(lb.provider);
  std::vector<std::string> out = api::warnings_about(ingress);
  std::ranges::move(api::warnings_about(ingress, providers), std::back_inserter(out));
  const std::string object = "Ingress " + ingress.meta.key().to_string();
  for (const model::LoadBalancerRef& lb : lbs) {
    for (const api::IngressPorts& wanted : api::ports_of(ingress)) {
      const auto foreign =
          neighbours_.foreign(self_of(ingress), {lb, wanted.transport, wanted.ports});
      if (foreign)
        out.push_back(
            fmt::format("{}: {}: {}: it waits until that is gone", object, wanted.field, *foreign));
    }
    if (is_served_(lb)) continue;
    out.push_back(
        fmt::format("{}: nothing here serves {} load balancers: {} stays without "
                    "listeners until the controller can",
                    object, model::to_string(lb.provider), model::to_string(lb)));
  }
  return out;
}

}  // namespace berth::admission
