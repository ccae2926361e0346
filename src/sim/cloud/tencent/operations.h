// The operations of the API, one function each. A call that arrives here is signed, permitted and
// checked against the action's table (actions.h); what is left is to look at the state, to refuse,
// or to begin a task. What is returned is the answer without its RequestId.
#pragma once

#include "sim/cloud/tencent/call.h"

namespace berth::sim::tencent {

using Answered = Outcome<wire::Object>;

// load_balancers.cpp
Answered describe_load_balancers(Call& call);
Answered create_load_balancer(Call& call);
Answered delete_load_balancer(Call& call);
Answered modify_load_balancer_attributes(Call& call);
Answered create_snat_ips(Call& call);
Answered delete_snat_ips(Call& call);

// listeners.cpp
Answered describe_listeners(Call& call);
Answered create_listener(Call& call);
Answered modify_listener(Call& call);
Answered delete_listener(Call& call);
Answered delete_load_balancer_listeners(Call& call);

// rules.cpp
Answered create_rule(Call& call);
Answered modify_rule(Call& call);
Answered modify_domain_attributes(Call& call);
Answered delete_rule(Call& call);

// targets.cpp
Answered describe_targets(Call& call);
Answered register_targets(Call& call);
Answered deregister_targets(Call& call);
Answered modify_target_weight(Call& call);
Answered batch_register_targets(Call& call);
Answered batch_deregister_targets(Call& call);
Answered batch_modify_target_weight(Call& call);

// health.cpp
Answered describe_target_health(Call& call);

// account.cpp
Answered describe_quota(Call& call);
Answered describe_task_status(Call& call);
Answered get_user_app_id(Call& call);
Answered tag_resources(Call& call);
Answered describe_addresses(Call& call);
Answered describe_instances(Call& call);
Answered describe_certificate(Call& call);

}  // namespace berth::sim::tencent
