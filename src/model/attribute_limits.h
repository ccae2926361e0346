// What the numbers of a listener may be, as a provider has them; each has a row in its table. Plain
// values.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::model {

// Both ends included. 0 is not asked: it stands for the provider's default.
struct Bounds {
  std::int64_t least = 1;
  std::int64_t most = 0;

  constexpr bool contains(std::int64_t number) const { return least <= number && number <= most; }
};

struct AttributeLimits {
  Bounds session_seconds{1, 86400};
  Bounds probe_timeout{1, 3600};  // seconds, as the next one
  Bounds probe_interval{1, 3600};
  Bounds probe_count{1, 100};  // that make a target healthy, or unhealthy
  // What is used where nothing is said: the timeout is measured by it.
  std::int64_t default_timeout = 2;
  std::int64_t default_interval = 5;
  bool timeout_may_be_interval = true;
  // Sessions are kept with weighted round robin alone: a session time beside another policy does
  // nothing.
  bool sessions_need_round_robin = false;
  bool has_source_ip = true;   // the policy IP_HASH
  bool has_code_texts = true;  // codes of a probe as "200-299", beside sums of their kinds
  // Forward types of layer 7, beside HTTP and HTTPS.
  bool has_grpc = false;
  bool has_quic = false;
  bool has_quic_sessions = false;  // the session type QUIC_CID of layer 4
  std::size_t max_domain = 253;
  std::size_t max_path = 1024;
};

}  // namespace berth::model
