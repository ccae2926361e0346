#include "admission/hints.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>

namespace berth::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

kube::AdmissionRequest asking(std::string resource, std::string_view object) {
  return {.api_version = "admission.k8s.io/v1",
          .uid = "u",
          .operation = "CREATE",
          .group = resource == "pods" ? "" : "apps",
          .version = "v1",
          .resource = std::move(resource),
          .subresource = "",
          .ns = "games",
          .name = "lobby",
          .user = "ann",
          .object = wire::parse_json(object).value(),
          .old_object = nullptr};
}

constexpr std::string_view kOnItself =
    R"({"kind":"Deployment","metadata":{"name":"lobby","annotations":{
        "portpools.networkextension.bkbcs.tencent.com":"true"}},
        "spec":{"template":{"metadata":{"labels":{"a":"b"}}}}})";
constexpr std::string_view kInTemplate =
    R"({"kind":"Deployment","metadata":{"name":"lobby"},
        "spec":{"template":{"metadata":{"annotations":{
        "portpools.networkextension.bkbcs.tencent.com":"true"}}}}})";

TEST(Hints, AnAnnotationOnTheWorkloadItselfIsPointedOut) {
  EXPECT_THAT(hint_template(asking("deployments", kOnItself)).warnings,
              ElementsAre(HasSubstr("spec.template.metadata.annotations")));
  EXPECT_THAT(hint_template(asking("deployments", kInTemplate)).warnings, IsEmpty());
}

TEST(Hints, ANamespaceWithoutTheLabelIsPointedOutWithTheCommandThatHelps) {
  EXPECT_THAT(
      hint_namespace(asking("deployments", kInTemplate)).warnings,
      ElementsAre(HasSubstr("kubectl label namespace games bcs-ingress-controller-inject=true")));
  EXPECT_THAT(hint_namespace(asking("deployments", kOnItself)).warnings, IsEmpty());
}

TEST(Hints, WhoDoesNotWantPortsIsLeftAlone) {
  constexpr std::string_view kFalse = R"({"kind":"Pod","metadata":{"name":"a","annotations":{
        "portpools.networkextension.bkbcs.tencent.com":"false"}},"spec":{}})";
  EXPECT_THAT(hint_namespace(asking("pods", kFalse)).warnings, IsEmpty());
  EXPECT_TRUE(hint_namespace(asking("pods", kFalse)).allowed);
}

}  // namespace
}  // namespace berth::admission
