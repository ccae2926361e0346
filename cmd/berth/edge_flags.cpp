#include "edge_flags.h"

#include <arpa/inet.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

namespace berth::cmd {
namespace {

constexpr const char* kFlag = "--edge-address";

bool is_address(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

}  // namespace

CLI::Option* add_edge_address_option(CLI::App& command, std::vector<std::string>& addresses) {
  return command.add_option(
      kFlag, addresses,
      "Addresses of an edge load balancer, as ID=ADDRESS[,ADDRESS]; may be repeated. An id without "
      "one is not served, and pools say so.");
}

Result<std::map<std::string, std::vector<std::string>>> edge_addresses(
    const std::vector<std::string>& flags) {
  std::map<std::string, std::vector<std::string>> out;
  for (const std::string& flag : flags) {
    const std::size_t equals = flag.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == flag.size()) {
      return fail(error_of(Code::invalid, "'{}' is not ID=ADDRESS[,ADDRESS]", flag)
                      .about(kFlag)
                      .with_hint("for example rooms=192.0.2.1"));
    }
    std::vector<std::string>& of_id = out[flag.substr(0, equals)];
    for (std::size_t at = equals + 1; at <= flag.size();) {
      const std::size_t comma = std::min(flag.find(',', at), flag.size());
      std::string address = flag.substr(at, comma - at);
      if (!is_address(address)) {
        return fail(error_of(Code::invalid, "'{}' in '{}' is no address", address, flag)
                        .about(kFlag)
                        .with_hint("numbers are meant, such as 192.0.2.1 or 2001:db8::1"));
      }
      of_id.push_back(std::move(address));
      at = comma + 1;
    }
  }
  return out;
}

}  // namespace berth::cmd
