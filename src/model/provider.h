// Providers of load balancers, and one table of what each can do. Rules about users' YAML, the
// planner and drivers read it, so that nobody else names a provider. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "model/attribute_limits.h"
#include "model/protocol.h"

namespace berth::model {

enum class Provider : std::uint8_t { edge, tencent, aws, gcp };

std::string_view to_string(Provider provider);  // "edge"
Result<Provider> parse_provider(std::string_view text);

// What fits one call, and what cannot be done at all.
struct Abilities {
  // Writes to one load balancer must follow each other.
  bool serial_writes = true;
  // A call may still take effect when the process that sent it is dead.
  bool outlives_caller = true;
  // Listeners stay when the process that made them ends. Otherwise a new one finds none.
  bool keeps_listeners = true;
  std::size_t create_batch = 50;   // listeners; also of attribute changes
  std::size_t remove_batch = 20;   // listeners
  std::size_t rule_batch = 20;     // rules that are made, changed or removed
  std::size_t target_batch = 250;  // targets of all changes of one call
  bool has_ranges = true;          // a listener may have more than one port
  // And may have all of them, without an end: for drivers to come.
  bool has_open_ranges = false;
  bool has_both_protocols = true;  // TCP and UDP on one port, as two listeners
  // What listeners may speak.
  ProtocolSet protocols{Protocol::tcp,  Protocol::udp,  Protocol::tcp_udp, Protocol::tls,
                        Protocol::quic, Protocol::http, Protocol::https};
  // The longest name of a listener; where listeners have none, the longest tag.
  std::size_t max_listener_name = 255;
};

struct ProviderTraits {
  std::string_view name;
  std::string_view title;  // for people: "AWS"
  // Whether a text has the form of an id. What has not is a name, and the provider is asked for it.
  bool (*is_id)(std::string_view text);
  // Ids are unique within one account only, so that a reference names it.
  bool has_account_in_id = false;
  // Some have gateways with several addresses, each with ports of its own.
  bool has_gateways = false;
  // It keeps no certificates: what users write names a Secret of the Listener's namespace.
  bool certificates_are_secrets = false;
  // Load balancers inside a network (of type "INTERNAL") have no listeners of more than one port.
  bool ranges_are_public = false;
  Abilities abilities{};
  // Of TCP, UDP, TCP_SSL and QUIC; of HTTP and HTTPS.
  AttributeLimits layer4{};
  AttributeLimits layer7{};
};

const ProviderTraits& traits_of(Provider provider);

}  // namespace berth::model
