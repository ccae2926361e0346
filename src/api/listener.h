// Listener: one port of one load balancer and where its traffic goes. As users of
// bcs-ingress-controller have it.
//
// It has no status subresource, so spec, labels, annotations and status can change in one write.
#pragma once

#include <string>
#include <vector>

#include "api/kind.h"

namespace berth::api {

struct ListenerBackend {
  std::string ip{};
  std::int64_t port = 0;
  std::int64_t weight = 0;
};

struct ListenerTargetGroup {
  std::string target_group_protocol{};
  std::vector<ListenerBackend> backends{};
};

struct ListenerSpec {
  std::string load_balancer_id{};
  std::int64_t port = 0;
  std::int64_t end_port = 0;
  std::string protocol{};
  std::optional<ListenerTargetGroup> target_group{};
};

struct ListenerStatus {
  std::string listener_id{};
  std::string status{};
  std::string message{};
  std::string port_pool{};
};

struct Listener {
  kube::ObjectMeta meta;
  ListenerSpec spec;
  ListenerStatus status;
};

// The tables, in the .cpp.
template <>
std::span<const Field> fields_of<ListenerBackend>();
template <>
std::span<const Field> fields_of<ListenerTargetGroup>();
template <>
std::span<const Field> fields_of<ListenerSpec>();
template <>
std::span<const Field> fields_of<ListenerStatus>();

const KindInfo& listener_kind();

// The name of a pool's Listener: load balancer, protocol and port.
std::string pool_listener_name(std::string_view load_balancer_id, std::string_view protocol,
                               std::int64_t port);

}  // namespace berth::api
