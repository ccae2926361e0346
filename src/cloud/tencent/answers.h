// What the cloud's answers say, in the words of the seams. Pure. A field that an answer lacks is as
// if it were not there: fields of the API may be null. An answer that lacks the very list that was
// asked for is `internal`: it does not say that there is none.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lb/directory.h"
#include "lb/health.h"
#include "lb/listeners.h"
#include "wire/value.h"

namespace berth::cloud::tencent {

// A listener with what the cloud calls its rules, and without targets.
struct CloudListener {
  lb::ObservedListener seen{};
  std::map<model::RuleKey, std::string> locations{};  // of layer 7
  std::string default_domain{};
};

// The targets of one rule.
struct RuleTargets {
  lb::RuleRef rule{};
  std::string location{};
  std::vector<model::WeightedTarget> targets{};  // sorted
};

// Of DescribeListeners.
Result<std::vector<CloudListener>> decode_listeners(const wire::Value& response);
// Of DescribeTargets: the listeners in it, rule by rule.
struct ListenerTargets {
  model::ListenerId listener{};
  bool is_layer7 = false;
  std::vector<RuleTargets> rules{};
};
std::vector<ListenerTargets> decode_targets(const wire::Value& response);
// Of DescribeTargetHealth.
std::vector<lb::TargetHealth> decode_health(const wire::Value& response);
// Of DescribeLoadBalancers.
Result<std::vector<lb::FoundLoadBalancer>> decode_balancers(const wire::Value& response,
                                                            const std::string& region);
// Of DescribeQuota: listeners of one load balancer. 0: not known.
std::uint32_t decode_listener_quota(const wire::Value& response);

std::vector<std::string> decode_texts(const wire::Value& response, std::string_view pointer);

}  // namespace berth::cloud::tencent
