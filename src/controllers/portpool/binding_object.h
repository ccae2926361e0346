// PortBinding objects as they are written: made, taken over, and told how they stand. Pure.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "api/port_binding.h"
#include "api/port_pool.h"
#include "kube/cache/pod.h"
#include "wire/value.h"

namespace berth::controllers::portpool {

using PoolOf = std::function<std::shared_ptr<const api::PortPool>(const kube::ObjectKey&)>;

// What pools may change of a bound port: the field that is passed through, and their load
// balancers' addresses.
void refresh_entries(std::vector<api::PortBindingItem>& entries, const PoolOf& pool_of);

// A binding that takes longer than this says so; a quick one saves the writes.
inline constexpr Duration kQuickBinding = std::chrono::seconds{2};

wire::Value new_binding(const kube::Pod& pod, const std::vector<api::PortBindingItem>& entries);
// The merge patch that makes it this Pod's, with what the Pod says now; nothing when it is. What
// was a former Pod's goes. `ready`: all ports lead to the Pod. Since when they do not is emptied
// once the status says Ready, in a round of its own, for which nobody waits.
std::optional<wire::Value> binding_patch(const api::PortBinding& binding, const kube::Pod& pod,
                                         const std::vector<api::PortBindingItem>& entries,
                                         bool ready, WallTime now);
// The merge patch that says of whom it speaks, where somebody took that off.
wire::Value mark_patch(const api::PortBinding& binding, std::string_view pod_uid);
// The merge patch of its status; nothing when it says so already.
std::optional<wire::Value> status_patch(const api::PortBinding& binding,
                                        const std::vector<api::PortBindingItem>& entries,
                                        const std::vector<const api::PortBindingItem*>& ready,
                                        WallTime now);
std::optional<wire::Value> cleaning_patch(const api::PortBinding& binding, bool cleaned,
                                          const std::optional<WallTime>& since, WallTime now);

}  // namespace berth::controllers::portpool
