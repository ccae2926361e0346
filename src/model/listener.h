// A listener: on one load balancer, this protocol and these ports forward to these targets. What
// front ends produce and drivers make true. Plain values.
//
// Targets belong to rules. A listener of layer 7 has one for each domain and path; any other has
// exactly one, whose key is empty, so nobody above a driver needs to ask for the layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/boxed.h"
#include "base/strong_id.h"
#include "model/port.h"
#include "model/protocol.h"

namespace berth::model {

// What a provider calls a listener.
using ListenerId = StrongId<struct ListenerIdTag>;

inline constexpr std::uint32_t kDefaultWeight = 10;

struct WeightedTarget {
  Target target{};
  // 0: drained. It gets no new connections; those that it has go on.
  std::uint32_t weight = kDefaultWeight;

  friend auto operator<=>(const WeightedTarget&, const WeightedTarget&) = default;
};

enum class Scheduler : std::uint8_t { weighted_round_robin, least_connections, source_ip };

// Durations in seconds, as users and clouds write them. 0 or empty: the provider's default.
struct HealthCheck {
  bool enabled = true;
  std::uint32_t timeout_seconds = 0;
  std::uint32_t interval_seconds = 0;
  std::uint32_t healthy_count = 0;
  std::uint32_t unhealthy_count = 0;
  Port port = 0;  // 0: the target's own
  // Of a check that asks by HTTP.
  std::string http_path{};
  std::string http_method{};
  std::string http_codes{};  // as the provider writes them

  friend bool operator==(const HealthCheck&, const HealthCheck&) = default;
};

// A certificate by what names it, never its bytes: those come from a resolver inside a driver.
struct Certificate {
  // The provider's id; or, where it keeps none, the Listener's namespace, a slash, and what its
  // owner wrote (lb/certificates.h).
  std::string reference{};

  friend auto operator<=>(const Certificate&, const Certificate&) = default;
};

struct Tls {
  std::vector<Certificate> certificates{};  // the first is the default; empty: none
  std::optional<Certificate> client_ca{};   // clients must show one that it signed

  friend bool operator==(const Tls&, const Tls&) = default;
};

// Of a listener as a whole.
struct ListenerAttributes {
  bool by_server_name = false;  // rules have certificates of their own, chosen by SNI
  bool keep_alive = false;      // connections to targets are kept
  std::uint32_t max_rate = 0;   // requests or connections a second; 0: no bound
  Boxed<Tls> tls{};

  friend bool operator==(const ListenerAttributes&, const ListenerAttributes&) = default;
};

// What a listener of layer 7 speaks to its targets. Clients speak HTTP/2 where targets speak gRPC.
enum class TargetProtocol : std::uint8_t { http, https, grpc };

struct RuleAttributes {
  Scheduler scheduler = Scheduler::weighted_round_robin;
  TargetProtocol to_targets = TargetProtocol::http;
  bool over_quic = false;           // of HTTPS: clients may come over QUIC too
  bool session_by_quic_id = false;  // of UDP: a session is a QUIC connection, whatever its address
  // Connections of one client address stay with their target while at most this passes between
  // them. 0: no persistence.
  std::uint32_t session_seconds = 0;
  Boxed<HealthCheck> health_check{};  // none: the provider's default
  Boxed<Tls> tls{};                   // of a listener that chooses by server name

  friend bool operator==(const RuleAttributes&, const RuleAttributes&) = default;
};

// What a request is known by. Both empty: all that arrives. One text, because a hundred thousand
// listeners have a rule each, most of them without a key.
class RuleKey {
 public:
  RuleKey() = default;
  RuleKey(std::string_view domain, std::string_view path)
      : text_(std::string(domain).append(path)),
        domain_(static_cast<std::uint32_t>(domain.size())) {}

  std::string_view domain() const { return std::string_view(text_).substr(0, domain_); }
  std::string_view path() const { return std::string_view(text_).substr(domain_); }
  const std::string& text() const { return text_; }  // "example.com/lobby"
  bool empty() const { return text_.empty(); }

  friend auto operator<=>(const RuleKey&, const RuleKey&) = default;

 private:
  std::string text_{};
  std::uint32_t domain_ = 0;
};
std::string to_string(const RuleKey& key);

struct Rule {
  RuleKey key{};
  RuleAttributes attributes{};
  std::vector<WeightedTarget> targets{};  // sorted, no target twice

  friend bool operator==(const Rule&, const Rule&) = default;
};

// Ports forward one to one: the n-th port of the range to the target's port plus n.
struct ListenerSpec {
  Protocol protocol = Protocol::tcp;
  PortRange ports{};
  std::string name{};  // at the provider; carries our cluster's id, so that it is known to be ours
  ListenerAttributes attributes{};
  std::vector<Rule> rules{};  // sorted by key, no key twice

  friend bool operator==(const ListenerSpec&, const ListenerSpec&) = default;
};

// A listener of one rule without a key.
ListenerSpec plain_listener(Protocol protocol, PortRange ports, std::string name,
                            std::vector<WeightedTarget> targets = {},
                            RuleAttributes attributes = {});

// Null: it has no such rule.
const Rule* find_rule(const ListenerSpec& spec, const RuleKey& key);
Rule* find_rule(ListenerSpec& spec, const RuleKey& key);

// Where traffic goes: the targets of each rule that has some.
using Leads = std::vector<std::pair<RuleKey, std::vector<WeightedTarget>>>;
Leads leads_of(const ListenerSpec& spec);
// The targets of all its rules, one after the other.
std::vector<WeightedTarget> targets_of(const ListenerSpec& spec);
// Whether any of its rules has a target.
bool leads_somewhere(const ListenerSpec& spec);
// The same listener, whose rules have no targets.
ListenerSpec without_targets(ListenerSpec spec);
// In the order that is promised above.
void sort(ListenerSpec& spec);

}  // namespace berth::model
