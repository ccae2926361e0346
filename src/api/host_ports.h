// What a Pod says to get random host ports, and what it is told about them: the annotations, labels
// and variables that users of bcs-webhook-server's `randhostport` have. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/port.h"

namespace berth::api {

// On the Pod's template, by the user: "true" asks for host ports. On the Pod, as a label, by us:
// the Pod has some.
inline constexpr std::string_view kHostPortAnnotation = "randhostport.webhook.bkbcs.tencent.com";
inline constexpr std::string_view kHostPortLabel = kHostPortAnnotation;
// For which ports: "8080,metric".
inline constexpr std::string_view kHostPortPortsAnnotation =
    "ports.randhostport.webhook.bkbcs.tencent.com";
// With any value: the container listens on the port that the node has, so that both are the same.
inline constexpr std::string_view kRandomContainerPortAnnotation =
    "randcontainerport.randhostport.webhook.bkbcs.tencent.com";

// In every container, by us.
inline constexpr std::string_view kHostPortVariablePrefix = "BCS_RANDHOSTPORT_FOR_CONTAINER_PORT_";
inline constexpr std::string_view kHostIpVariable = "BCS_RANDHOSTPORT_HOSTIP";
inline constexpr std::string_view kPodNameVariable = "BCS_RANDHOSTPORT_POD_NAME";
inline constexpr std::string_view kPodNamespaceVariable = "BCS_RANDHOSTPORT_POD_NAMESPACE";

// What ports are given when nobody configured it: below node ports (30000-32767) and below the
// ports that Linux gives to outgoing connections (32768-60999).
inline constexpr model::PortRange kDefaultHostPorts{20000, 29999};

// "20000-29999", both included.
Result<model::PortRange> parse_host_port_range(std::string_view text);

// The entries of the ports annotation: names or numbers, each once.
Result<std::vector<std::string>> parse_host_port_entries(std::string_view annotation);

// "29001.randhostport.webhook.bkbcs.tencent.com", whose value is the port as well.
std::string host_port_label(model::Port host_port);
// The port of such a label; nothing for others.
std::optional<model::Port> port_of_label(std::string_view key);

// "randhostport.webhook.bkbcs.tencent.com.8080", whose value is the host port.
std::string host_port_result_annotation(model::Port container_port);
bool is_host_port_result(std::string_view annotation_key);

// "BCS_RANDHOSTPORT_FOR_CONTAINER_PORT_8080", whose value is the host port.
std::string host_port_variable(model::Port container_port);
// The container port of such a variable; nothing for others.
std::optional<model::Port> port_of_variable(std::string_view name);

}  // namespace berth::api
