// What `berth status` and `berth explain` say of port pools. Pure.
#pragma once

#include "report/explain.h"

namespace berth::modules::port_pools {

// status.cpp
void add_status(const report::ClusterView& view, report::Status& status);
// explain.cpp
bool is_asked(const report::ExplainView& view);
void tell(const report::ExplainView& view, report::Explanation& out);
std::optional<bool> is_served(const wire::Value& pod);
std::vector<claims::ListenerPtr> listeners_of(const report::ExplainView& view);
std::string kept_for(const report::ClusterView& view, const kube::ObjectKey& pod);

}  // namespace berth::modules::port_pools
