// The edge does what every driver must do.

#include "lb/conformance/conformance.h"

#include "edge/test_sites.h"

namespace berth::edge {
namespace {

class EdgeSubject final : public lb::Subject {
 public:
  lb::Driver driver() override { return edge_.driver->seams(); }
  Context context() override { return edge_.context; }
  model::LoadBalancerRef first() override { return edge_.lb; }
  model::LoadBalancerRef second() override { return {.id = edge_.lb.id + "-second"}; }
  bool speaks(model::Protocol protocol) override {
    return !is_site(protocol) || !haproxy::find_program().empty();
  }
  model::Tls certificate(int n) override { return testing::tls_named(n == 0 ? "a" : "b"); }

 private:
  testing::SiteEdge edge_;
};

class EdgeConformance : public ::testing::TestWithParam<lb::Check> {};

TEST_P(EdgeConformance, Holds) {
  EdgeSubject subject;
  GetParam().run(subject);
}

INSTANTIATE_TEST_SUITE_P(Driver, EdgeConformance, ::testing::ValuesIn(lb::conformance_checks()),
                         lb::name_of_check);

}  // namespace
}  // namespace berth::edge
