#include "lb/conformance/conformance.h"

#include "lb/conformance/probe.h"

namespace berth::lb {

std::vector<Check> conformance_checks() {
  std::vector<Check> checks = listener_checks();
  const std::vector<Check> more = target_checks();
  checks.insert(checks.end(), more.begin(), more.end());
  return checks;
}

std::string name_of_check(const testing::TestParamInfo<Check>& info) {
  return std::string(info.param.name);
}

}  // namespace berth::lb
