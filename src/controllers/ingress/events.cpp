#include "controllers/ingress/events.h"

namespace berth::controllers::ingress {
namespace {

kube::EventNote about(const api::Ingress& ingress, std::string_view type, std::string_view reason,
                      std::string message) {
  const kube::ResourceType& kind = api::ingress_kind().type;
  return {.target = {.api_version = kind.api_version(),
                     .kind = kind.kind,
                     .ns = std::string(ingress.meta.ns.view()),
                     .name = ingress.meta.name,
                     .uid = ingress.meta.uid},
          .type = std::string(type),
          .reason = std::string(reason),
          .message = std::move(message)};
}

}  // namespace

kube::EventNote is_ready(const api::Ingress& ingress) {
  return about(ingress, "Normal", kSuccessReason, "every listener is as written");
}

kube::EventNote failed(const api::Ingress& ingress, std::string message) {
  return about(ingress, "Warning", kFailedReason, std::move(message));
}

kube::EventNote leads_nowhere(const api::Ingress& ingress, const Gap& gap) {
  return about(ingress, "Warning", kBindFailedReason,
               fmt::format("{}: {}", gap.field, gap.message));
}

}  // namespace berth::controllers::ingress
