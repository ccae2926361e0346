#include "controllers/listener/events.h"

namespace berth::controllers::listener {

kube::EventNote not_synced(const api::Listener& listener, const Error& error) {
  const kube::ResourceType& kind = api::listener_kind().type;
  return {.target = {.api_version = kind.api_version(),
                     .kind = kind.kind,
                     .ns = std::string(listener.meta.ns.view()),
                     .name = listener.meta.name,
                     .uid = listener.meta.uid},
          .type = "Warning",
          .reason = "EnsureFailed",
          .message = error.to_string()};
}

}  // namespace berth::controllers::listener
