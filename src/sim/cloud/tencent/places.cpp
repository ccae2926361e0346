#include "sim/cloud/tencent/places.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

namespace berth::sim::tencent {
namespace {

// Bytes in network order; empty when it is no address.
std::vector<unsigned char> bytes_of(std::string_view text) {
  const std::string copy(text);
  std::array<unsigned char, 16> buffer{};
  if (::inet_pton(AF_INET, copy.c_str(), buffer.data()) == 1)
    return {buffer.begin(), buffer.begin() + 4};
  if (::inet_pton(AF_INET6, copy.c_str(), buffer.data()) == 1)
    return {buffer.begin(), buffer.end()};
  return {};
}

const Network* network_of(const Account& account, std::string_view address) {
  const auto it = std::ranges::find_if(
      account.networks, [&](const Network& one) { return lies_in(address, one.cidr); });
  return it == account.networks.end() ? nullptr : &*it;
}

// Across regions or to addresses that the cloud does not know: by source address translation.
Outcome<std::string> by_snat(const LoadBalancer& lb, const std::string& ip) {
  if (!lb.snat_pro) {
    return refuse("InvalidParameterValue",
                  "Not support to register other ip ['{}'] before enable SnatPro", ip);
  }
  if (lb.snat_ips.empty())
    return refuse("InvalidParameterValue", "{} has no snat ip to reach '{}' from", lb.id, ip);
  return "CCN";
}

Outcome<std::string> type_of_address(const Call& call, const LoadBalancer& lb,
                                     const std::string& ip) {
  if (call.account.networks.empty()) return "ENI";
  const Network* network = network_of(call.account, ip);
  if (network == nullptr || network->region != lb.region) return by_snat(lb, ip);
  if (network->vpc_id != lb.vpc_id) {
    if (lb.snat_pro) return by_snat(lb, ip);
    return refuse("InvalidParameterValue", "ip {} is not add to global route of vpc {}", ip,
                  lb.vpc_id);
  }
  if (!network->global_route) return "ENI";
  if (call.account.network_shift_up) return "GLOBALROUTE";
  return refuse("InvalidParameterValue",
                "Account {} is not network shift up, do not support to register other ip",
                call.account.uin);
}

Outcome<const Instance*> instance(const Call& call, const std::string& id) {
  const auto it = std::ranges::find(call.account.instances, id, &Instance::id);
  if (it != call.account.instances.end()) return &*it;
  return refuse("InvalidParameterValue", "Instance {} not found", id);
}

}  // namespace

bool is_address(std::string_view text) { return !bytes_of(text).empty(); }

bool lies_in(std::string_view address, std::string_view cidr) {
  const std::size_t slash = std::min(cidr.find('/'), cidr.size());
  const auto one = bytes_of(address);
  const auto net = bytes_of(cidr.substr(0, slash));
  if (one.empty() || one.size() != net.size()) return false;
  std::size_t bits = one.size() * 8;
  if (slash < cidr.size())
    std::from_chars(cidr.data() + slash + 1, cidr.data() + cidr.size(), bits);
  for (std::size_t bit = 0; bit < bits && bit < one.size() * 8; ++bit) {
    const unsigned mask = 0x80U >> (bit % 8);
    if (((one[bit / 8] ^ net[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

Outcome<Target> name_target(const Call& call, const Params& named) {
  const std::string ip = named.text("EniIp");
  const std::string id = named.text("InstanceId");
  if (ip.empty() == id.empty())
    return refuse("InvalidParameterValue", "Exactly one of `InstanceId` and `EniIp` is needed");
  const auto port = named.number("Port");
  if (!port) return refuse("MissingParameter", "The request is missing a parameter `Port`.");
  Target out;
  out.port = *port;
  out.instance_id = id;
  out.weight = named.number("Weight").value_or(out.weight);
  out.tag = named.text("Tag");
  if (id.empty()) {
    if (!is_address(ip)) return refuse("InvalidParameter.FormatError", "EniIp '{}' is none", ip);
    out.ip = ip;
    return out;
  }
  auto machine = instance(call, id);
  if (!machine) return pass(machine);
  out.ip = (*machine)->ip;
  out.type = "CVM";
  return out;
}

Outcome<Target> place_target(const Call& call, const LoadBalancer& lb, const Params& named) {
  auto out = name_target(call, named);
  if (!out) return out;
  if (!out->instance_id.empty()) {
    auto machine = instance(call, out->instance_id);
    if ((*machine)->region == lb.region && (*machine)->vpc_id == lb.vpc_id) return out;
    return refuse("InvalidParameterValue", "Instance {} is not in the vpc of {}", out->instance_id,
                  lb.id);
  }
  auto type = type_of_address(call, lb, out->ip);
  if (!type) return pass(type);
  out->type = std::move(*type);
  return out;
}

}  // namespace berth::sim::tencent
