// Names and paths of the webhooks that are answered here, for the configurations and the router.
#pragma once

#include <string_view>

namespace berth::admission {

// Webhooks that give ports to Pods, by their names in the configuration.
inline constexpr std::string_view kHostPortsHook = "host-ports.berth.dev";
inline constexpr std::string_view kPodPortsHook = "pod-ports.berth.dev";
inline constexpr std::string_view kPortPoolsHook = "portpools.berth.dev";
inline constexpr std::string_view kIngressesHook = "ingresses.berth.dev";
inline constexpr std::string_view kTemplateHintHook = "template-hint.berth.dev";
inline constexpr std::string_view kNamespaceHintHook = "namespace-hint.berth.dev";

inline constexpr std::string_view kPodPortsPath = "/mutate-pod-ports";
inline constexpr std::string_view kHostPortsPath = "/mutate-host-ports";
inline constexpr std::string_view kPortPoolsPath = "/validate-portpools";
inline constexpr std::string_view kIngressesPath = "/validate-ingresses";
inline constexpr std::string_view kTemplateHintPath = "/hint-template";
inline constexpr std::string_view kNamespaceHintPath = "/hint-namespace";

// On the configuration of the webhooks: the range of random host ports, "20000-29999". For people
// and for `berth explain`.
inline constexpr std::string_view kHostPortsAnnotation = "berth.dev/host-ports";

}  // namespace berth::admission
