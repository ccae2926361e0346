// Bodies of the cloud's requests out of what the seams say. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lb/listeners.h"
#include "wire/value.h"

namespace berth::cloud::tencent {

// What the API documents as the most of one call.
inline constexpr std::size_t kPortsPerCreate = 49;
inline constexpr std::size_t kListenersPerRemoval = 20;
inline constexpr std::size_t kListenersPerDescribe = 100;
inline constexpr std::size_t kListenersPerTargets = 20;
inline constexpr std::size_t kBalancersPerDescribe = 20;
inline constexpr std::size_t kBalancersPerPage = 100;
inline constexpr std::size_t kRulesPerWeights = 100;
inline constexpr std::size_t kTargetsPerRuleOfWeights = 50;
inline constexpr std::size_t kTargetsPerBatch = 500;

// Whether the cloud can have such a listener at all; `unsupported` or `invalid` if not.
Result<> check_listener(const model::ListenerSpec& spec);
Result<> check_attributes(model::Protocol protocol, const model::ListenerAttributes& wished);
Result<> check_rule(model::Protocol protocol, const model::RuleAttributes& wished);

// All of them are alike (lb/alike.h).
wire::Object create_listeners_body(std::string_view lb,
                                   std::span<const model::ListenerSpec* const> specs);

// What must change; nothing if all is as wished.
std::optional<wire::Object> modify_listener_body(std::string_view lb, const model::ListenerId& id,
                                                 const model::ListenerAttributes& there,
                                                 const model::ListenerAttributes& wished);
// The only rule of a listener that is not of layer 7.
std::optional<wire::Object> modify_plain_rule_body(std::string_view lb, const model::ListenerId& id,
                                                   model::Protocol protocol,
                                                   const model::RuleAttributes& there,
                                                   const model::RuleAttributes& wished);
std::optional<wire::Object> modify_rule_body(std::string_view lb, const model::ListenerId& id,
                                             std::string_view location,
                                             const model::RuleAttributes& there,
                                             const model::RuleAttributes& wished);
// A certificate belongs to a domain, whatever rule asked for it.
std::optional<wire::Object> modify_domain_body(std::string_view lb, const lb::RuleRef& rule,
                                               const model::RuleAttributes& there,
                                               const model::RuleAttributes& wished);

// All of one listener.
wire::Object create_rules_body(std::string_view lb, const model::ListenerId& id,
                               std::span<const lb::NewRule* const> rules);
wire::Object delete_rules_body(std::string_view lb, const model::ListenerId& id,
                               std::span<const std::string> locations,
                               std::string_view new_default_domain);
// None would be all of them: `invalid`, and so is an id without text.
Result<wire::Object> delete_listeners_body(std::string_view lb,
                                           std::span<const model::ListenerId> ids);

// One target of one rule. The location is empty for a listener that is not of layer 7.
struct TargetLine {
  model::ListenerId listener{};
  std::string location{};
  model::WeightedTarget target{};
};
wire::Object register_body(std::string_view lb, std::span<const TargetLine> lines);
wire::Object deregister_body(std::string_view lb, std::span<const TargetLine> lines);
// In as many calls as it takes. Lines of one rule are next to each other.
std::vector<wire::Object> weights_bodies(std::string_view lb, std::span<const TargetLine> lines);

// No ids: all of them.
wire::Object of_listeners_body(std::string_view lb, std::span<const model::ListenerId> ids);
wire::Object health_body(std::string_view lb, std::span<const model::ListenerId> ids);
wire::Object describe_balancers_body(std::span<const std::string> ids);
wire::Object search_body(std::string_view name,
                         std::span<const std::pair<std::string, std::string>> tags,
                         std::size_t offset);

}  // namespace berth::cloud::tencent
