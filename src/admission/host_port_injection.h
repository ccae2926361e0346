// What random host ports change in a Pod: which ports it asks for, what it carries from an earlier
// admission, and what it is given. Pure functions over the Pod as the API server sent it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/port.h"
#include "wire/value.h"

namespace berth::admission {

// A container port that gets a host port. TCP and UDP of one number get the same, since the Pod is
// told about it by number.
struct WantedHostPort {
  model::Port container_port = 0;
  std::vector<std::string> places{};  // pointers to its entries in containers' `ports`
};

// As the annotation asks, in its order. An entry means the ports of that name; when there are none,
// those of that number. Of entries with the same number and protocol only the first counts,
// containers before init containers: the Pod has one address, and the API server refuses the same
// host port twice. Errors name the field and what is declared.
Result<std::vector<WantedHostPort>> wanted_host_ports(const wire::Value& pod);

// Host ports that the Pod has on entries which do not ask for one: it cannot have them twice.
std::vector<model::Port> fixed_host_ports(const wire::Value& pod,
                                          const std::vector<WantedHostPort>& wanted);

// On the node's network a container listens on the node itself, so its port must be the host port.
Result<> check_network(const wire::Value& pod);

// Whether the Pod keeps away from others that have this host port.
bool has_anti_affinity(const wire::Value& pod, model::Port host_port);

// By container port as the user declared it: what an earlier admission of this Pod, or of the one
// that it was copied from, has put into its variables.
using HostPortMap = std::map<model::Port, model::Port>;
HostPortMap carried_host_ports(const wire::Value& pod);

// Takes back what an earlier admission did, but for variables: those are replaced.
void remove_host_ports(wire::Value& pod);

struct GivenHostPort {
  WantedHostPort wanted{};
  model::Port host_port = 0;
};
// Host ports, labels, annotations, variables and anti-affinity. With `as_container_port` containers
// listen on the host port's number as well.
void put_host_ports(wire::Value& pod, const std::vector<GivenHostPort>& given,
                    bool as_container_port);

}  // namespace berth::admission
