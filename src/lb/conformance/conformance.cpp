#include "lb/conformance/conformance.h"

#include "lb/conformance/probe.h"

namespace berth::lb {

std::vector<Check> conformance_checks() {
  std::vector<Check> checks;
  for (const auto& part : {listener_checks(), target_checks(), rule_checks()}) {
    checks.insert(checks.end(), part.begin(), part.end());
  }
  return checks;
}

std::string name_of_check(const testing::TestParamInfo<Check>& info) {
  return std::string(info.param.name);
}

}  // namespace berth::lb
