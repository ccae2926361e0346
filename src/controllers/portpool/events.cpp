#include "controllers/portpool/events.h"

#include "api/pod_ports.h"
#include "claims/slot.h"

namespace berth::controllers::portpool {
namespace {

constexpr std::string_view kNormal = "Normal";
constexpr std::string_view kWarning = "Warning";

kube::EventNote note(std::string api_version, std::string_view kind, const kube::ObjectMeta& meta,
                     std::string_view type, std::string_view reason, std::string message) {
  return {.target = {.api_version = std::move(api_version),
                     .kind = std::string(kind),
                     .ns = std::string(meta.ns.view()),
                     .name = meta.name,
                     .uid = meta.uid},
          .type = std::string(type),
          .reason = std::string(reason),
          .message = std::move(message)};
}

kube::EventNote about_pool(const api::PortPool& pool, std::string_view type,
                           std::string_view reason, std::string message) {
  const kube::ResourceType& kind = api::port_pool_kind().type;
  return note(kind.api_version(), kind.kind, pool.meta, type, reason, std::move(message));
}

kube::EventNote about_binding(const api::PortBinding& binding, std::string_view reason,
                              std::string message) {
  const kube::ResourceType& kind = api::port_binding_kind().type;
  return note(kind.api_version(), kind.kind, binding.meta, kNormal, reason, std::move(message));
}

// "TCP port 8000 is reached at 1.1.1.1:31000; ..."
std::string list_of(const std::vector<api::PortBindingItem>& entries, std::string_view verb) {
  std::string out;
  for (const api::PortBindingItem& entry : entries) {
    out += fmt::format("{}{} port {} {} {}", out.empty() ? "" : "; ", entry.protocol,
                       entry.rs_start_port, verb, api::public_address(entry));
  }
  return out;
}

constexpr std::string_view kReached = "is reached at";

std::string holder_of(const std::optional<ledger::Claim>& claim, std::string_view reader) {
  if (!claim) return "nobody yet";
  if (claim->ns != reader) return "a Pod of another namespace";
  return claim->pod_name.empty() ? "a Pod of " + claim->ns
                                 : "Pod " + claim->ns + "/" + claim->pod_name;
}

}  // namespace

kube::EventNote pod_is_ready(const kube::Pod& pod) {
  const auto bindings =
      api::decode_pool_bindings(kube::get(pod.meta.annotations, api::kPoolBindingsAnnotation));
  return note("v1", "Pod", pod.meta, kNormal, kReadyReason,
              bindings ? list_of(*bindings, kReached) : std::string());
}

kube::EventNote binding_created(const api::PortBinding& binding) {
  return about_binding(binding, kCreatedReason,
                       list_of(binding.spec.port_binding_list, "was given"));
}

kube::EventNote binding_is_ready(const api::PortBinding& binding,
                                 const std::vector<api::PortBindingItem>& entries) {
  return about_binding(binding, kReadyReason, list_of(entries, kReached));
}

kube::EventNote binding_is_cleaning(const api::PortBinding& binding) {
  return about_binding(binding, kCleaningReason,
                       "the Pod is gone or has ended; its ports are being taken from it");
}

kube::EventNote binding_is_clean(const api::PortBinding& binding,
                                 const std::optional<WallTime>& kept_until) {
  std::string message = "no port leads to the Pod any more";
  if (kept_until) {
    message += fmt::format("; a Pod of the same name has them again until {}",
                           format_rfc3339(*kept_until));
  }
  return about_binding(binding, kCleanedReason, std::move(message));
}

kube::EventNote pool_is_ready(const api::PortPool& pool) {
  return about_pool(pool, kNormal, kReadyReason, "all ports of the pool can be had");
}

kube::EventNote pool_failed(const api::PortPool& pool, const Error& error) {
  return about_pool(pool, kWarning, kEnsureFailedReason, error.to_string());
}

Error claim_lost(const kube::Pod& pod, const api::Listener& lock) {
  return error_of(Code::conflict, "{} port {} of the pool is held by {}", lock.spec.protocol,
                  lock.spec.port, holder_of(claims::claim_of(lock), pod.meta.ns.view()))
      .about("Listener " + lock.meta.key().to_string())
      .with_hint("delete the Pod: the one that comes in its place gets a port of its own");
}

Error never_claimed(const api::Listener& lock) {
  return error_of(Code::conflict,
                  "{} port {} of the pool was never given to this Pod: its annotation {} is a copy",
                  lock.spec.protocol, lock.spec.port, api::kPoolBindingsAnnotation)
      .about("Listener " + lock.meta.key().to_string())
      .with_hint(fmt::format("leave the annotation out, see that the namespace has the label "
                             "{}=true, and create the Pod anew",
                             api::kInjectLabel));
}

kube::EventNote pod_lost_claim(const kube::Pod& pod, const Error& error) {
  return note("v1", "Pod", pod.meta, kWarning, kClaimLostReason, error.to_string());
}

}  // namespace berth::controllers::portpool
