// The driver on the simulated cloud: everything that every driver must do, over signed calls.
#include <gtest/gtest.h>

#include "cloud/tencent/test_simulated_clb.h"
#include "lb/conformance/conformance.h"

namespace berth::cloud::tencent {
namespace {

using namespace std::chrono_literals;
using lb::Check;
using model::LoadBalancerRef;
using sim::tencent::Settings;
using testing::ref;
using testing::SimulatedClb;

Settings roomy() {
  Settings out;
  out.limits.targets_per_rule = 500;  // a full batch goes to one listener
  return out;
}

// Everything that documentation leaves open, the other way round.
Settings otherwise() {
  Settings out = roomy();
  out.limits.create_listener_ports = 49;
  out.unsure.batch_targets_are_tasks = false;
  out.unsure.batch_fails_whole_on_unknown_listener = true;
  out.unsure.registering_again_is_refused = true;
  out.unsure.deregistering_missing_is_refused = true;
  out.unsure.lock_outlives_task = 300ms;
  out.unsure.busy_names_the_task = true;
  out.unsure.inapplicable_is_refused = true;
  out.unsure.describing_missing_is_refused = true;
  out.unsure.default_domain_needs_another = true;
  out.unsure.untargeted_are_left_out = true;
  return out;
}

class ClbSubject final : public lb::Subject {
 public:
  explicit ClbSubject(const Settings& settings, sim::tencent::Policy policy = {"*:*"})
      : clb_(settings, std::move(policy)) {}

  lb::Driver driver() override { return clb_.driver.seams(); }
  Context context() override { return clb_.context(); }
  LoadBalancerRef first() override { return ref("lb-first"); }
  LoadBalancerRef second() override { return ref("lb-second"); }
  std::optional<LoadBalancerRef> unknown() override { return ref("lb-nobody"); }
  std::string elsewhere() override { return "ap-guangzhou"; }
  model::Tls certificate(int n) override {
    return {.certificates = {{.reference = fmt::format("cert-{}", n)}}};
  }
  // CLB bounds the rate of layer 4 alone, and these checks are of layer 7.
  model::ListenerAttributes kept(model::ListenerAttributes attributes) override {
    attributes.max_rate = 0;
    return attributes;
  }
  model::RuleAttributes kept(model::RuleAttributes attributes) override { return attributes; }

 private:
  SimulatedClb clb_;
};

class TencentConformance : public ::testing::TestWithParam<Check> {};

TEST_P(TencentConformance, Holds) {
  ClbSubject subject(roomy());
  GetParam().run(subject);
}

TEST_P(TencentConformance, HoldsWhereDocumentationMayMeanTheOpposite) {
  ClbSubject subject(otherwise());
  GetParam().run(subject);
}

// A domain that is there gets another certificate, or QUIC is switched on or off for it.
bool changes_a_domain(const Check& check) {
  return check.name == "RulesHaveCertificatesWhereTheyAreChosenByName" ||
         check.name == "ForwardTypesComeBackAsAsked";
}

// What the quick start of bcs-ingress-controller lists, as far as it concerns us, is enough for all
// but changes of domains.
TEST_P(TencentConformance, HoldsWithThePermissionsOfTheQuickStart) {
  if (changes_a_domain(GetParam())) return;
  ClbSubject subject(roomy(), {"clb:Describe*", "clb:CreateListener", "clb:ModifyListener",
                               "clb:DeleteLoadBalancerListeners", "clb:CreateRule",
                               "clb:ModifyRule", "clb:DeleteRule", "clb:BatchRegisterTargets",
                               "clb:BatchDeregisterTargets", "clb:BatchModifyTargetWeight"});
  GetParam().run(subject);
}

INSTANTIATE_TEST_SUITE_P(Driver, TencentConformance, ::testing::ValuesIn(lb::conformance_checks()),
                         lb::name_of_check);

}  // namespace
}  // namespace berth::cloud::tencent
