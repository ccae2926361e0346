// PortBlock: a block of ports of one load balancer, and who has which of them. While a load
// balancer has few owners, its own object says all of it; when there are many, that object hands
// blocks on to objects of this kind, so that no write has to carry all owners.
//
// What it says counts only while the LoadBalancer object names its uid: `claims/grant_book.h`.
#pragma once

#include "api/load_balancer.h"

namespace berth::api {

struct PortBlockSpec {
  std::string load_balancer{};  // the name of its LoadBalancer object
  std::string protocol{};
  std::int64_t start_port = 0;
  std::int64_t end_port = 0;  // the last one: included
  bool closed = false;        // it is being taken back: nothing is granted in it any more
  std::vector<Grant> grants{};

  friend bool operator==(const PortBlockSpec&, const PortBlockSpec&) = default;
};

struct PortBlock {
  kube::ObjectMeta meta;
  PortBlockSpec spec;
};

// The table, in the .cpp.
template <>
std::span<const Field> fields_of<PortBlockSpec>();

const KindInfo& port_block_kind();

}  // namespace berth::api
