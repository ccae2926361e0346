// What objects whose owners have listeners must all keep to: PortPools and Ingresses. Pure
// functions.
#pragma once

#include <optional>
#include <string>

#include "api/listener_parts.h"
#include "api/walkers.h"
#include "model/load_balancer.h"
#include "model/provider.h"

namespace berth::api {

// Listeners of both would have the same names, in which there is no region, and a dash for what
// names of objects do not know. Two references to one load balancer are not meant.
bool share_names(const model::LoadBalancerRef& a, const model::LoadBalancerRef& b);
// That they do, in words.
std::string shared_names(const model::LoadBalancerRef& a, const model::LoadBalancerRef& b);

// A policy that nobody knows. `path` is that of the attribute.
std::optional<Breach> check_policy(const ListenerAttribute& attribute, bool layer7,
                                   const std::string& path);
// Numbers and policies that a provider does not take. `path` is that of the attribute.
std::optional<Breach> check_attribute(const ListenerAttribute& attribute, bool layer7,
                                      const model::ProviderTraits& provider,
                                      const std::string& path);

// How a certificate is written, and that there is one where `protocol` ends TLS. `path` is that of
// the certificate, `protocol_text` as its owner wrote it.
std::optional<Breach> check_certificate(const Boxed<ListenerCertificate>& certificate,
                                        const std::string& path);
std::optional<Breach> check_has_certificate(const Boxed<ListenerCertificate>& certificate,
                                            model::Protocol protocol,
                                            std::string_view protocol_text,
                                            const std::string& path);

// Segments on a load balancer of this type ("OPEN", "INTERNAL", or empty where it is not known).
std::optional<Breach> check_segments(const model::LoadBalancerRef& load_balancer,
                                     std::string_view type, const std::string& path);

// What a check at layer 4 says of HTTP, which its path alone would switch on: names with commas
// between them.
std::string idle_without_path(const ListenerHealthCheck& check);
// A check that is not switched on, and says more.
inline constexpr std::string_view kSwitchedOff =
    "switches probes off, because it has no enabled: true; the rest does nothing";
inline constexpr std::string_view kIdleWithoutPath =
    "does nothing at layer 4 without httpCheckPath";

// Whether it asks for a dial test; one that is switched off does not.
bool is_dialled(const Json& uptime_check);
inline constexpr std::string_view kNoDialTest = "is kept and not acted on: no dial test is made";

}  // namespace berth::api
