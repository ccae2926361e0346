// PortPool: ranges of ports on load balancers, given to Pods one by one. As users of
// bcs-ingress-controller have it.
#pragma once

#include <string>
#include <vector>

#include "api/kind.h"
#include "model/port.h"

namespace berth::api {

struct PortPoolItem {
  std::string item_name{};
  std::vector<std::string> load_balancer_ids{};
  std::string protocol{};
  std::int64_t start_port = 0;
  std::int64_t end_port = 0;
  std::string external{};
};

struct PortPoolSpec {
  std::string allocate_policy{};
  std::vector<PortPoolItem> pool_items{};
};

struct PortPoolItemStatus {
  std::string item_name{};
  std::vector<std::string> load_balancer_ids{};
  std::int64_t start_port = 0;
  std::int64_t end_port = 0;
  std::string status{};
  std::string message{};
};

struct PortPoolStatus {
  std::string status{};
  std::vector<PortPoolItemStatus> pool_items{};
};

struct PortPool {
  kube::ObjectMeta meta;
  PortPoolSpec spec;
  PortPoolStatus status;
};

// The tables, in the .cpp.
template <>
std::span<const Field> fields_of<PortPoolItem>();
template <>
std::span<const Field> fields_of<PortPoolSpec>();
template <>
std::span<const Field> fields_of<PortPoolItemStatus>();
template <>
std::span<const Field> fields_of<PortPoolStatus>();

const KindInfo& port_pool_kind();

// The ports of an item; its protocols, "TCP,UDP" when none are named.
model::PortRange ports_of(const PortPoolItem& item);
Result<std::vector<model::Protocol>> protocols_of(const PortPoolItem& item);

// What the schema cannot say: ranges that are upside down, names and ranges that repeat. Errors
// name the field.
Result<> validate(const PortPool& pool);
// What may not change, and ranges that may only grow.
Result<> validate_update(const PortPool& before, const PortPool& after);

}  // namespace berth::api
