#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/host_ports.h"
#include "api/pod_ports.h"
#include "app/modules.h"
#include "report/explain.h"

namespace berth::report {
namespace {

using wire::Object;

ExplainView asking(std::string_view annotation) {
  ExplainView view{
      .cluster = {.parts = app::all_report_parts()}, .kind = "Pod", .key = {"games", "room-0"}};
  view.pod = Object{{"metadata", Object{{"namespace", "games"},
                                        {"name", "room-0"},
                                        {"annotations", Object{{annotation, "true"}}}}}};
  return view;
}

// It is no defect that anybody could repair at the webhook.
TEST(Explain, APodThatAsksAModuleThatIsOffIsToldSo) {
  ExplainView view = asking(api::kHostPortAnnotation);
  view.cluster.without = {"host-ports"};
  const Explanation told = explain(view);
  ASSERT_EQ(told.steps.size(), 1u);
  EXPECT_EQ(told.steps[0].verdict, Verdict::bad);
  EXPECT_EQ(told.steps[0].what, "the controller runs without host-ports");
  EXPECT_NE(told.steps[0].fix.find("--without=host-ports"), std::string::npos);
}

TEST(Explain, AModuleThatIsOffIsNobodyElsesTrouble) {
  ExplainView view = asking(api::kPortPoolsAnnotation);
  view.cluster.without = {"host-ports"};
  for (const Step& step : explain(view).steps)
    EXPECT_EQ(step.what.find("runs without"), std::string::npos) << step.what;
}

}  // namespace
}  // namespace berth::report
