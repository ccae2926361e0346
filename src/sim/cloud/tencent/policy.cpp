#include "sim/cloud/tencent/policy.h"

#include <algorithm>

namespace berth::sim::tencent {

bool allows(const Policy& policy, std::string_view operation) {
  return std::ranges::any_of(policy, [&](std::string_view pattern) {
    if (pattern == "*" || pattern == "*:*") return true;
    if (!pattern.ends_with('*')) return pattern == operation;
    pattern.remove_suffix(1);
    return operation.starts_with(pattern);
  });
}

const Policy& guide_policy() {
  static const Policy policy{"clb:Describe*",
                             "clb:DescribeTargetHealth",
                             "clb:DescribeForwardLBListeners",
                             "clb:DescribeLoadBalancerListeners",
                             "clb:DescribeForwardLBBackends",
                             "clb:DescribeExclusiveClusters",
                             "clb:DescribeBlockIPList",
                             "clb:DescribeBlockIPTask",
                             "clb:DescribeClassicalLBByInstanceId",
                             "clb:DescribeClusterResources",
                             "clb:DescribeLoadBalancerListByCertId",
                             "clb:DescribeQuota",
                             "clb:DescribeSetInnerName",
                             "clb:DescribeCustomizedConfigList",
                             "clb:DescribeCustomizedConfigContent",
                             "clb:AutoRewrite",
                             "clb:ModifyTargetWeight",
                             "clb:BatchModifyTargetWeight",
                             "clb:CreateListener",
                             "clb:DeleteListener",
                             "clb:CreateRule",
                             "clb:DeleteRule",
                             "clb:ModifyRule",
                             "clb:ManualRewrite",
                             "clb:ModifyListener",
                             "clb:RegisterTargets",
                             "clb:DeregisterTargets",
                             "clb:BatchDeregisterTargets",
                             "clb:ReplaceCertForLoadBalancers",
                             "clb:DeleteLoadBalancerListeners",
                             "clb:BatchRegisterTargets",
                             "clb:AssociateTargetGroups",
                             "clb:DescribeTargetGroupInstances",
                             "clb:DescribeTargetGroupList",
                             "clb:DescribeTargetGroups",
                             "clb:DisassociateTargetGroups",
                             "cvm:DescribeInstances"};
  return policy;
}

}  // namespace berth::sim::tencent
