#include "edge/address_plan.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/file.h"
#include "base/fnv.h"

namespace berth::edge {
namespace {

constexpr std::size_t kMaxProcFile = 64u << 10;

// Addresses that people have noted down hang on it.
std::uint32_t address_hash(std::string_view text) { return Fnv1a32().add(text).value(); }

// CAP_NET_BIND_SERVICE, as the kernel shows it to the process itself.
bool may_open_all_ports() {
  constexpr std::uint64_t kNetBindService = 1u << 10;
  constexpr std::string_view kLabel = "CapEff:\t";
  const Result<std::string> status = read_file("/proc/self/status", kMaxProcFile);
  const std::size_t at = status ? status->find(kLabel) : std::string::npos;
  if (at == std::string::npos) return false;
  std::uint64_t rights = 0;
  const char* const begin = status->data() + at + kLabel.size();
  std::from_chars(begin, status->data() + status->size(), rights, 16);
  return (rights & kNetBindService) != 0;
}

std::uint32_t unprivileged_port_start() {
  constexpr std::uint32_t kKernelDefault = 1024;
  constexpr const char* kPortStart = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
  const Result<std::string> text = read_file(kPortStart, kMaxProcFile);
  if (!text) return kKernelDefault;
  std::uint32_t start = kKernelDefault;
  std::from_chars(text->data(), text->data() + text->size(), start);
  return start;
}

}  // namespace

std::string loopback_address(const std::string& load_balancer_id) {
  const std::uint32_t hash = address_hash(load_balancer_id);
  // Without the ends of a /24.
  return fmt::format("127.{}.{}.{}", 64 + (hash >> 16) % 64, (hash >> 8) % 256, 1 + hash % 254);
}

AddressPlan loopback_plan() {
  return [](const model::LoadBalancerRef& lb) -> Result<std::vector<std::string>> {
    return std::vector{loopback_address(lb.region.empty() ? lb.id : lb.region + ":" + lb.id)};
  };
}

AddressPlan fixed_plan(std::map<std::string, std::vector<std::string>> addresses_by_id) {
  return [plan = std::move(addresses_by_id)](
             const model::LoadBalancerRef& lb) -> Result<std::vector<std::string>> {
    const auto it = plan.find(lb.id);
    if (it != plan.end()) return it->second;
    return fail(error_of(Code::not_found, "no addresses are configured for it")
                    .about("load balancer " + model::to_string(lb))
                    .with_hint(fmt::format(
                        "start the controller with --edge-address {}=ADDRESS; drivers of clouds "
                        "are not there yet",
                        lb.id)));
  };
}

std::vector<model::PortRange> LowPorts::opened_at(const model::PortRange& ports) const {
  std::vector<model::PortRange> pieces;
  if (ports.first < limit) {
    const auto last = static_cast<model::Port>(std::min<std::uint32_t>(ports.last, limit - 1));
    pieces.push_back({opened_at(ports.first), opened_at(last)});
  }
  if (ports.last >= limit) {
    const auto first = static_cast<model::Port>(std::max<std::uint32_t>(ports.first, limit));
    pieces.push_back({first, ports.last});
  }
  return pieces;
}

LowPorts low_ports_of_process(std::uint32_t offset) {
  if (may_open_all_ports()) return {};
  return {unprivileged_port_start(), offset};
}

}  // namespace berth::edge
