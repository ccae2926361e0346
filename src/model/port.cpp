#include "model/port.h"

#include <charconv>

namespace berth::model {

std::string_view to_string(Transport transport) {
  return transport == Transport::tcp ? "TCP" : "UDP";
}

Result<Transport> parse_transport(std::string_view text) {
  if (text == "TCP" || text == "tcp") return Transport::tcp;
  if (text == "UDP" || text == "udp") return Transport::udp;
  return fail(Code::invalid, "protocol '{}' is not one of TCP, UDP", text);
}

Result<Port> parse_port(std::string_view text) {
  Port port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0) {
    return fail(Code::invalid, "port '{}' is not 1-65535", text);
  }
  return port;
}

std::string to_string(const Target& target) {
  const bool v6 = target.ip.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", target.ip, target.port)
            : fmt::format("{}:{}", target.ip, target.port);
}

}  // namespace berth::model
