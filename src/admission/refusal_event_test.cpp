#include "admission/refusal_event.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace berth::admission {
namespace {

kube::AdmissionRequest pod_of_a_workload(const std::string& name) {
  kube::AdmissionRequest request;
  request.ns = "play";
  request.name = name;
  request.object = wire::parse_json(R"({"metadata":{"ownerReferences":[
      {"apiVersion":"apps/v1","kind":"StatefulSet","name":"room","uid":"u","controller":true}]}})")
                       .value();
  return request;
}

Error full(const std::string& how, const std::string& hint = "raise endPort or add an item") {
  return error_of(Code::exhausted, "no free TCP port: {}", how)
      .about("PortPool play/room-ports")
      .with_hint(hint);
}

TEST(RefusalEvent, IsTheSameWhoeverHoldsThePorts) {
  const auto first = refusal_event(pod_of_a_workload("room-20"),
                                   full("20 of 20 in use by play/room-0, play/room-1"));
  const auto second =
      refusal_event(pod_of_a_workload("room-21"),
                    full("19 of 20 in use by play/room-1, 1 not ready yet", "wait"));
  ASSERT_TRUE(first);
  ASSERT_TRUE(second);
  EXPECT_EQ(first->message, "PortPool play/room-ports: no free TCP port");
  EXPECT_EQ(second->message, first->message);
  EXPECT_EQ(first->reason, "AllocatePortFailed");
  EXPECT_EQ(first->target.kind, "StatefulSet");
}

TEST(RefusalEvent, OfAWrongAnnotationNamesTheFieldAndNoPod) {
  const auto event = refusal_event(pod_of_a_workload("room-3"),
                                   error_of(Code::invalid, "there is no PortPool play/nowhere")
                                       .about("Pod play/room-3")
                                       .at("metadata.annotations[x]"));
  ASSERT_TRUE(event);
  EXPECT_EQ(event->message, "metadata.annotations[x]: there is no PortPool play/nowhere");
}

TEST(RefusalEvent, OfAPodThatNobodyOwnsIsNone) {
  kube::AdmissionRequest request = pod_of_a_workload("room-0");
  request.object = wire::Object{};
  EXPECT_FALSE(refusal_event(request, full("all")));
}

}  // namespace
}  // namespace berth::admission
