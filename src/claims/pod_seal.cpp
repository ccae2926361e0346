#include "claims/pod_seal.h"

namespace berth::claims {
namespace {

constexpr std::string_view kPurpose = "pod-ports";
constexpr char kSeparator = ':';

// What never changes of the entries; a length before each text keeps them apart.
std::string slots_text(const std::vector<api::PortBindingItem>& told) {
  std::string out;
  const auto add = [&out](std::string_view text) {
    out += fmt::format("{}:{}", text.size(), text);
  };
  for (const api::PortBindingItem& entry : told) {
    add(entry.pool_namespace);
    add(entry.pool_name);
    add(entry.pool_item_name);
    add(entry.protocol);
    add(fmt::format("{}-{} {} {}", entry.start_port, entry.end_port, entry.rs_start_port,
                    entry.host_port));
  }
  return out;
}

}  // namespace

std::string seal_ports(const crypto::KeyRing& ring, const GivenPorts& given,
                       std::string_view request) {
  const std::string slots = slots_text(given.told);
  return fmt::format("{}{}{}", request, kSeparator,
                     ring.seal(kPurpose, {given.token, given.ns, request, slots}));
}

PortsProof judge_ports(const crypto::KeyRing& ring, const GivenPorts& given,
                       std::string_view annotation) {
  if (annotation.empty()) return {};
  const std::size_t end = annotation.find(kSeparator);
  if (end == std::string_view::npos) return {.verdict = crypto::SealVerdict::forged};
  const std::string_view request = annotation.substr(0, end);
  const std::string_view seal = annotation.substr(end + 1);
  const std::string slots = slots_text(given.told);
  return {.verdict = ring.judge(kPurpose, {given.token, given.ns, request, slots}, seal),
          .request = std::string(request),
          .is_current = ring.is_current(seal)};
}

}  // namespace berth::claims
