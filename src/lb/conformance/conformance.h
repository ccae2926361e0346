// The conformance suite: what every driver must do, as a list of checks. For tests.
//
// A driver's test makes a Subject and runs every check on a fresh one:
//
//   class EdgeConformance : public testing::TestWithParam<lb::Check> {};
//   TEST_P(EdgeConformance, Holds) { EdgeSubject subject; GetParam().run(subject); }
//   INSTANTIATE_TEST_SUITE_P(Driver, EdgeConformance, testing::ValuesIn(lb::conformance_checks()),
//                            lb::name_of_check);
//
// What a driver cannot do at all (its abilities say so) is not checked. Seams and things that it
// has beyond the others are named when the checks are asked for: then there are more checks in the
// list. Failures are gtest's.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/context.h"
#include "lb/driver.h"

namespace berth::lb {

// A driver and load balancers to try it on. The load balancers begin without listeners.
class Subject {
 public:
  virtual ~Subject() = default;

  virtual Driver driver() = 0;
  virtual Context context() = 0;
  // Two that are not the same.
  virtual model::LoadBalancerRef first() = 0;
  virtual model::LoadBalancerRef second() = 0;
  // One that does not exist; none where every id is as good as another.
  virtual std::optional<model::LoadBalancerRef> unknown() { return std::nullopt; }
  // Forty ports from here on may be used, on both load balancers.
  virtual model::Port first_port() { return 30000; }
  // Addresses that may be targets; different for different n below 300.
  virtual model::Target target(int n) {
    return {fmt::format("127.1.{}.{}", n / 200, n % 200 + 1), 9000};
  }
  // Attributes that the driver keeps. Return the given ones unless it has fewer.
  virtual model::ListenerAttributes kept(model::ListenerAttributes attributes) {
    return attributes;
  }
  virtual model::RuleAttributes kept(model::RuleAttributes attributes) { return attributes; }
  // Of what the abilities name: this machine has what it takes. What it has not is not checked.
  virtual bool speaks(model::Protocol) { return true; }
  // Certificates that listeners and rules may have; different for n of 0 and 1. Without any, what
  // needs one is not checked.
  virtual model::Tls certificate(int) { return {}; }
  // Whether weights are kept.
  virtual bool has_weights() { return true; }
  // The process that has the driver dies after so many further writes to the provider, and
  // `driver` is then that of another. Below 0: not any more. False: it cannot be done.
  virtual bool break_off(int /*after*/) { return false; }
  // For a driver with a maker: load balancers that may be made, of another name for each n; the
  // same in another region, which is not that of the first two.
  virtual NewLoadBalancer wanted(int n) {
    return {.account = first().account,
            .region = first().region,
            .name = fmt::format("conformance-{}", n),
            .tags = {mark(), {"number", fmt::to_string(n)}}};
  }
  virtual std::string elsewhere() { return first().region + "-2"; }
  virtual Tag mark() { return {"made-by", "conformance"}; }
};

// What a driver has beyond the others. Of what it has not, a check says so.
struct Extent {
  bool maker = false;
  bool half_made = false;  // a listener or a rule is several things at the provider
};

struct Check {
  std::string_view name;
  void (*run)(Subject& subject);

  friend void PrintTo(const Check& check, std::ostream* out) { *out << check.name; }
};

std::vector<Check> conformance_checks(const Extent& extent = {});
std::string name_of_check(const testing::TestParamInfo<Check>& info);

}  // namespace berth::lb
