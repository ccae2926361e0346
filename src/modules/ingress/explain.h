// What `berth explain` says of an Ingress. Pure, but for the reading.
#pragma once

#include "report/explain.h"

namespace berth::modules::ingress {

// The Services and Pods that it may lead to.
Result<> read_around(const Context& context, kube::Client& client, report::ExplainView& view);
std::vector<claims::ListenerPtr> listeners_of(const report::ExplainView& view);
void tell(const report::ExplainView& view, report::Explanation& out);

}  // namespace berth::modules::ingress
