// Labels, annotations and finalizers of our objects, with the keys of bcs-ingress-controller: users
// select by them. Pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "model/load_balancer.h"

namespace berth::api {

// On PortPools, Listeners and PortBindings while they have something at a load balancer.
inline constexpr std::string_view kFinalizer = "ingresscontroller.bkbcs.tencent.com";

// Of PortBindings.
inline constexpr std::string_view kBindingTypeLabel = "type.portbinding.bkbcs.tencent.com";
inline constexpr std::string_view kPodBinding = "Pod";
inline constexpr std::string_view kUnreadySinceAnnotation =
    "unready_timestamp.networkextension.bkbcs.tencent.com";

// Of Ingresses: their load balancers, with commas between them. Names count where there are no ids.
inline constexpr std::string_view kLoadBalancerIdsAnnotation =
    "networkextension.bkbcs.tencent.com/lbids";
inline constexpr std::string_view kLoadBalancerNamesAnnotation =
    "networkextension.bkbcs.tencent.com/lbnames";

// Of Listeners.
inline constexpr std::string_view kSegmentLabel = "segmentlistener.bkbcs.tencent.com";
inline constexpr std::string_view kLoadBalancerIdLabel = "ingress.bkbcs.tencent.com/lbid";
inline constexpr std::string_view kLoadBalancerRegionLabel = "ingress.bkbcs.tencent.com/lbregion";
inline constexpr std::string_view kPoolListenerLabel = "portpool.bkbcs.tencent.com";
inline constexpr std::string_view kUptimeCheckLabel = "uptime_check.bkbcs.tencent.com";
inline constexpr std::string_view kPoolItemLabelValue = "portpool-item-name";
inline constexpr std::string_view kIngressLabelValue = "ingress-name";
inline constexpr std::string_view kOwnerKindKey = "owner-kind";
inline constexpr std::string_view kOwnerNameKey = "owner-name";
// The field of a Listener's status that has the name of an owner of this kind; empty: none has.
std::string_view owner_field(std::string_view kind);
// While bound: the PortBinding.
inline constexpr std::string_view kSourceNamespaceLabel = "source_namespace.bkbcs.tencent.com";
inline constexpr std::string_view kSourceNameLabel = "source_name.bkbcs.tencent.com";

inline constexpr std::size_t kMaxLabelText = 63;

// The text itself where it can be a label's value; else its beginning and a part of its digest, so
// that long names and names with odd characters stay apart.
std::string label_value(std::string_view text);

// How the next ones begin.
inline constexpr std::string_view kPoolBindingPrefix = "portpool.";
// The key of a PortBinding's label whose value is `label_value(item)`: "portpool.rooms.games", cut
// and completed with a digest where it is longer than a key may be.
std::string pool_binding_label(std::string_view pool, std::string_view pool_namespace);
// The key of a Listener's label whose value is kPoolItemLabelValue: "rooms/<digest of the item>".
std::string pool_item_label(std::string_view pool, std::string_view item);

// Selects the Listeners of a load balancer, and perhaps others.
std::string load_balancer_selector(const model::LoadBalancerRef& load_balancer);

// All labels of a pool's Listener that do not change while it lives.
std::map<std::string, std::string> pool_listener_labels(std::string_view pool,
                                                        std::string_view item,
                                                        const model::LoadBalancerRef& load_balancer,
                                                        bool segment);
// The same of an Ingress's Listener. One of them has the Ingress's name as its key, cut and
// completed with a digest where it is longer than a key may be.
std::map<std::string, std::string> ingress_listener_labels(
    std::string_view ingress, const model::LoadBalancerRef& load_balancer, bool segment);

}  // namespace berth::api
