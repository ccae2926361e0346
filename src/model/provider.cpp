#include "model/provider.h"

#include <algorithm>
#include <array>

namespace berth::model {
namespace {

// Where names are unique, they are the ids.
bool is_any(std::string_view) { return true; }

// "lb-", or "nat-" of a gateway, and what Tencent gives: lower-case letters and digits.
bool is_tencent_id(std::string_view text) {
  return std::ranges::any_of(std::array<std::string_view, 2>{"lb-", "nat-"},
                             [&](std::string_view prefix) {
                               return text.starts_with(prefix) && text.size() > prefix.size() &&
                                      std::ranges::all_of(text.substr(prefix.size()), [](char c) {
                                        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
                                      });
                             });
}

bool is_arn(std::string_view text) { return text.starts_with("arn:"); }

// As the guide says that users have; the API takes some that are a little wider.
constexpr AttributeLimits kTencentLayer4{.session_seconds = {30, 3600},
                                         .probe_timeout = {2, 60},
                                         .probe_interval = {5, 300},
                                         .probe_count = {2, 10},
                                         .timeout_may_be_interval = false,
                                         .sessions_need_round_robin = true,
                                         .has_source_ip = false,
                                         .has_code_texts = false,
                                         .has_quic_sessions = true};
constexpr AttributeLimits kTencentLayer7{.session_seconds = {30, 3600},
                                         .probe_timeout = {2, 60},
                                         .probe_interval = {5, 300},
                                         .probe_count = {2, 10},
                                         .timeout_may_be_interval = false,
                                         .sessions_need_round_robin = true,
                                         .has_code_texts = false,
                                         .has_grpc = true,
                                         .has_quic = true,
                                         .max_domain = 80,
                                         .max_path = 200};
constexpr AttributeLimits kAwsLayer4{.session_seconds = {1, 604800},
                                     .probe_timeout = {2, 120},
                                     .probe_interval = {5, 300},
                                     .probe_count = {2, 10},
                                     .default_timeout = 10,
                                     .default_interval = 30};
constexpr AttributeLimits kAwsLayer7{.session_seconds = {1, 604800},
                                     .probe_timeout = {2, 120},
                                     .probe_interval = {5, 300},
                                     .probe_count = {2, 10},
                                     .default_timeout = 5,
                                     .default_interval = 30};
constexpr AttributeLimits kGoogle{.probe_timeout = {1, 300},
                                  .probe_interval = {1, 300},
                                  .probe_count = {1, 10},
                                  .default_timeout = 5};

// In the order of the enumeration. Sources: the providers' API documentation; where one takes a
// single listener or rule for each call, batches are of one.
constexpr std::array<ProviderTraits, 4> kTraits{
    // In memory a call may be as long as the caller likes; batches keep one from holding up others.
    ProviderTraits{.name = "edge",
                   .title = "edge",
                   .is_id = is_any,
                   .certificates_are_secrets = true,
                   .abilities = {.serial_writes = false,
                                 .outlives_caller = false,
                                 .keeps_listeners = false,
                                 .create_batch = 1000,
                                 .remove_batch = 1000,
                                 .rule_batch = 1000,
                                 .target_batch = 5000,
                                 .protocols = {Protocol::tcp, Protocol::udp, Protocol::tls,
                                               Protocol::http, Protocol::https}},
                   .layer7 = {.has_grpc = true}},
    ProviderTraits{.name = "tencent",
                   .title = "Tencent",
                   .is_id = is_tencent_id,
                   .has_gateways = true,
                   .ranges_are_public = true,
                   // Its documentation says 50 ports, its API "less than 50".
                   .abilities = {.create_batch = 49,
                                 .target_batch = 500,
                                 .has_open_ranges = true,
                                 .protocols = {Protocol::tcp, Protocol::udp, Protocol::tls,
                                               Protocol::quic, Protocol::http, Protocol::https},
                                 .max_listener_name = 60},
                   .layer4 = kTencentLayer4,
                   .layer7 = kTencentLayer7},
    // Listeners have no name there: a tag carries it.
    ProviderTraits{.name = "aws",
                   .title = "AWS",
                   .is_id = is_arn,
                   .abilities = {.serial_writes = false,
                                 .create_batch = 1,
                                 .remove_batch = 1,
                                 .rule_batch = 1,
                                 .target_batch = 100,
                                 .has_ranges = false,
                                 .has_both_protocols = false,
                                 .protocols = {Protocol::tcp, Protocol::udp, Protocol::tcp_udp,
                                               Protocol::tls, Protocol::http, Protocol::https}},
                   .layer4 = kAwsLayer4,
                   .layer7 = kAwsLayer7},
    ProviderTraits{.name = "gcp",
                   .title = "Google",
                   .is_id = is_any,
                   .has_account_in_id = true,
                   .abilities = {.serial_writes = false,
                                 .create_batch = 1,
                                 .remove_batch = 1,
                                 .target_batch = 500,
                                 .has_open_ranges = true,
                                 .protocols = {Protocol::tcp, Protocol::udp},
                                 .max_listener_name = 63},
                   .layer4 = kGoogle,
                   .layer7 = kGoogle},
};

}  // namespace

const ProviderTraits& traits_of(Provider provider) {
  return kTraits[static_cast<std::size_t>(provider)];
}

std::string_view to_string(Provider provider) { return traits_of(provider).name; }

Result<Provider> parse_provider(std::string_view text) {
  const auto it = std::ranges::find(kTraits, text, &ProviderTraits::name);
  if (it != kTraits.end()) return static_cast<Provider>(it - kTraits.begin());
  std::string names;
  for (const ProviderTraits& one : kTraits)
    names.append(names.empty() ? "" : ", ").append(one.name);
  return fail(Code::invalid, "provider '{}' is not one of {}", text, names);
}

}  // namespace berth::model
