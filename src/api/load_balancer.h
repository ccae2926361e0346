// LoadBalancer: one load balancer of one provider, in the whole cluster. It holds the grants: which
// object owns which ports on it, exactly once. It also shows people what the provider says.
//
// Cluster-scoped, so that its name is unique: `model::object_name` makes it from the reference.
#pragma once

#include <string>
#include <vector>

#include "api/condition.h"
#include "api/kind.h"

namespace berth::api {

inline constexpr std::string_view kBerthGroup = "berth.dev";

// Ports that one object owns on the load balancer.
struct Grant {
  std::string protocol{};
  std::int64_t start_port = 0;
  std::int64_t end_port = 0;  // the last one: included
  std::string owner_kind{};
  std::string owner_namespace{};
  std::string owner_name{};
  std::string owner_uid{};
  std::string item{};   // of a pool
  std::string since{};  // RFC 3339

  friend bool operator==(const Grant&, const Grant&) = default;
};

struct LoadBalancerSpec {
  std::string provider{};
  std::string account{};
  std::string region{};
  std::string load_balancer_id{};
  std::vector<Grant> grants{};

  friend bool operator==(const LoadBalancerSpec&, const LoadBalancerSpec&) = default;
};

struct LoadBalancerStatus {
  std::string name{};
  std::vector<std::string> vips{};
  std::string dns_name{};
  std::string type{};
  std::int64_t listener_quota = 0;
  std::int64_t listeners_used = 0;
  std::int64_t low_port_limit = 0;
  std::int64_t low_port_offset = 0;
  std::string last_error{};
  std::vector<Condition> conditions{};

  friend bool operator==(const LoadBalancerStatus&, const LoadBalancerStatus&) = default;
};

struct LoadBalancer {
  kube::ObjectMeta meta;
  LoadBalancerSpec spec;
  LoadBalancerStatus status;
};

// A grant takes about 300 bytes, and the API server takes objects up to 1.5 MB.
inline constexpr std::size_t kMaxGrants = 2048;

// The tables, in the .cpp.
template <>
std::span<const Field> fields_of<Grant>();
template <>
std::span<const Field> fields_of<LoadBalancerSpec>();
template <>
std::span<const Field> fields_of<LoadBalancerStatus>();

const KindInfo& load_balancer_kind();

}  // namespace berth::api
