#include "playground/refused.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace berth::playground {
namespace {

wire::Value json(std::string_view text) { return wire::parse_json(text).value(); }

wire::Value pod() {
  return json(R"({"metadata":{"ownerReferences":[{"uid":"s1","controller":true}]}})");
}
wire::Value workload() {
  return json(
      R"({"metadata":{"namespace":"play","name":"room","uid":"s1"},"spec":{"replicas":3}})");
}
wire::Value event(std::string_view uid, std::string_view at, std::string_view why,
                  std::string_view reason = "AllocatePortFailed") {
  return wire::Object{{"reason", reason},
                      {"message", why},
                      {"lastTimestamp", at},
                      {"involvedObject", wire::Object{{"kind", "StatefulSet"}, {"uid", uid}}}};
}

TEST(Refused, SaysHowManyPodsOfWhichWorkloadAndWhy) {
  const auto rows = refused_rows({workload()}, count_pods({pod()}),
                                 {event("s1", "2026-01-01T00:00:02Z", "no free port"),
                                  event("s1", "2026-01-01T00:00:01Z", "an older reason"),
                                  event("s1", "2026-01-01T00:00:03Z", "other", "FailedCreate"),
                                  event("s2", "2026-01-01T00:00:04Z", "of another")});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].workload, "play/room");
  EXPECT_EQ(rows[0].kind, "StatefulSet");
  EXPECT_EQ(rows[0].missing, 2);
  EXPECT_EQ(rows[0].wanted, 3);
  EXPECT_EQ(rows[0].why, "no free port");
}

TEST(Refused, AWorkloadThatHasAllItsPodsOrIsStillMakingThemIsNoneOfThem) {
  const auto events = std::vector{event("s1", "2026-01-01T00:00:02Z", "no free port")};
  EXPECT_TRUE(refused_rows({workload()}, count_pods({pod(), pod(), pod()}), events).empty());
  EXPECT_TRUE(refused_rows({workload()}, count_pods({pod()}), {}).empty());
}

}  // namespace
}  // namespace berth::playground
