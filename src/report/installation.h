// Berth itself, as reports look at it: whether its kinds are there and stay, whether its Pods run,
// and whether its webhooks have anybody behind them. Reading apart from judging, which is pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "kube/client/client.h"
#include "wire/value.h"

namespace berth::report {

struct ClusterView;

// What was found. Null or empty: it is not there, or not for us to see.
struct Installation {
  std::vector<wire::Value> kinds{};  // the CustomResourceDefinitions of our kinds that are there
  std::vector<std::string> missing_kinds{};
  wire::Value deployment{};
  std::vector<wire::Value> pods{};  // of the controller
  std::string webhook_service{};    // "berth-system/berth-webhooks"; empty: webhooks have an URL
  // Addresses that are ready; nothing: they could not be read.
  std::optional<std::size_t> webhook_endpoints{};
};

// After the lease and the webhooks were read. What we may not see is added to `view.unseen`.
Result<> read_installation(const Context& context, kube::Client& client, ClusterView& view);

// Something that is wrong with it, and what to do.
struct Trouble {
  std::string what{};
  std::string fix{};
};
// Kinds that are going, or gone: new objects of them are refused.
std::vector<Trouble> troubles_of_kinds(const ClusterView& view);
// Why its Pods do not run.
std::vector<Trouble> troubles_of_pods(const ClusterView& view);
// Why nobody answers its webhooks.
std::vector<Trouble> troubles_of_webhooks(const ClusterView& view);

}  // namespace berth::report
