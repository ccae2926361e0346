#include "app/leader_address.h"

#include <arpa/inet.h>

#include <array>
#include <optional>

#include "net/url.h"

namespace berth::app {
namespace {

constexpr std::string_view kPurpose = "leader";

using AddressBytes = std::array<unsigned char, 16>;

// No names: who answers those is decided elsewhere.
std::optional<AddressBytes> bytes_of(std::string_view text) {
  AddressBytes out{};
  const std::string copy(text);
  const bool is_address = inet_pton(AF_INET, copy.c_str(), out.data()) == 1 ||
                          inet_pton(AF_INET6, copy.c_str(), out.data()) == 1;
  return is_address ? std::optional(out) : std::nullopt;
}

// 0.0.0.0 and ::, of any spelling: all that this machine has.
bool is_any(const AddressBytes& bytes) { return bytes == AddressBytes{}; }

}  // namespace

std::string sealed_notice(const crypto::KeyRing& ring, std::string_view ns,
                          std::string_view identity, std::string_view address) {
  const std::string seal = ring.seal(kPurpose, {ns, identity, address});
  return seal.empty() ? "" : fmt::format("{} {}", address, seal);
}

Result<std::string> address_in(const crypto::KeyRing& ring, std::string_view ns,
                               const kube::LeaseHolder& holder) {
  const std::size_t space = holder.notice.find(' ');
  // Of a version before, or one that has no address to say.
  if (space == std::string::npos)
    return fail(Code::unavailable, "the leader has not said where it is");
  const std::string_view address = std::string_view(holder.notice).substr(0, space);
  const std::string_view seal = std::string_view(holder.notice).substr(space + 1);
  const crypto::SealVerdict verdict = ring.judge(kPurpose, {ns, holder.identity, address}, seal);
  const Result<net::HostPort> parts = net::split_host_port(address);
  if (verdict != crypto::SealVerdict::good || !parts || !bytes_of(parts->host))
    return fail(Code::forbidden, "where the leader is was written by somebody else");
  return std::string(address);
}

Result<std::string> advertised_address(std::string_view said, std::string_view listening) {
  if (!said.empty()) {
    const auto bytes = bytes_of(said);
    if (bytes && !is_any(*bytes)) return std::string(said);
    return fail(error_of(Code::invalid, "'{}' is no address that another replica could call", said)
                    .with_hint("for example 192.0.2.7 or 2001:db8::7"));
  }
  const auto bytes = bytes_of(listening);
  return bytes && !is_any(*bytes) ? std::string(listening) : std::string();
}

}  // namespace berth::app
