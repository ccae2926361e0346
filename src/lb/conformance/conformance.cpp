#include "lb/conformance/conformance.h"

#include "lb/conformance/probe.h"

namespace berth::lb {

std::vector<Check> conformance_checks(const Extent& extent) {
  std::vector<Check> checks;
  for (const auto& part :
       {listener_checks(), target_checks(), rule_checks(), question_checks(), directory_checks(),
        extent.half_made ? half_made_checks() : checks_without_half_made(),
        extent.maker ? maker_checks() : checks_without_maker()}) {
    checks.insert(checks.end(), part.begin(), part.end());
  }
  return checks;
}

std::string name_of_check(const testing::TestParamInfo<Check>& info) {
  return std::string(info.param.name);
}

}  // namespace berth::lb
