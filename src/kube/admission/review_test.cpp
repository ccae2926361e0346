#include "kube/admission/review.h"

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace berth::kube {
namespace {

const char* const kReview =
    R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1",
  "operation":"CREATE","namespace":"games","resource":{"group":"","version":"v1","resource":"pods"},
  "userInfo":{"username":"me"},"object":{"kind":"Pod","metadata":{"generateName":"room-"}},"oldObject":null}})";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kReview;
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(AdmissionReview, ReadsWhatTheServerSends) {
  const auto request = parse_review(kReview);
  ASSERT_TRUE(request) << request.error().to_string();
  EXPECT_EQ(request->uid, "u1");
  EXPECT_EQ(request->resource, "pods");
  EXPECT_EQ(request->user, "me");
  EXPECT_TRUE(request->old_object.is_null());
  EXPECT_EQ(request->describe(), "Pod games/room-*");
  EXPECT_TRUE(parse_review(with("admission.k8s.io/v1", "admission.k8s.io/v1beta1")));
}

TEST(AdmissionReview, GarbageGetsAnErrorThatNamesTheField) {
  const auto error = [](const std::string& body) {
    const auto request = parse_review(body);
    return request ? "" : request.error().field + ": " + request.error().message;
  };
  EXPECT_EQ(error("{"), ": is not JSON");
  EXPECT_EQ(error("[]"), "kind: is not AdmissionReview");
  EXPECT_EQ(error(with("admission.k8s.io/v1", "v9")),
            "apiVersion: 'v9' is not admission.k8s.io/v1 or v1beta1");
  EXPECT_EQ(error(R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})"),
            "request: is missing");
  EXPECT_EQ(error(with("\"u1\"", "\"\"")), "request.uid: is missing");
  EXPECT_EQ(error(with("CREATE", "CONJURE")),
            "request.operation: 'CONJURE' is not one of CREATE, UPDATE, DELETE, CONNECT");
  EXPECT_EQ(error(with("{\"kind\":\"Pod\",\"metadata\":{\"generateName\":\"room-\"}}", "null")),
            "request.object: is missing in a CREATE");
  EXPECT_EQ(error(with("\"oldObject\":null", "\"oldObject\":7")),
            "request.oldObject: is no object");
}

TEST(AdmissionReview, AnswersAsTheServerWantsIt) {
  const auto request = parse_review(kReview).value();
  const wire::Value allowed = wire::parse_json(render_review(request, {})).value();
  EXPECT_EQ(wire::string_at(allowed, "/apiVersion"), "admission.k8s.io/v1");
  EXPECT_EQ(wire::string_at(allowed, "/response/uid"), "u1");
  EXPECT_EQ(wire::bool_at(allowed, "/response/allowed"), true);
  EXPECT_FALSE(wire::find(allowed, "/response/patchType"))
      << "a patch type without a patch is refused";

  AdmissionAnswer patched{.patch = {wire::Object{{"op", "remove"}, {"path", "/x"}}},
                          .warnings = {std::string(300, 'w')}};
  const wire::Value answer = wire::parse_json(render_review(request, patched)).value();
  EXPECT_EQ(wire::string_at(answer, "/response/patchType"), "JSONPatch");
  EXPECT_EQ(base64_decode(wire::string_at(answer, "/response/patch")).value(),
            R"([{"op":"remove","path":"/x"}])");
  EXPECT_EQ(wire::string_at(answer, "/response/warnings/0").size(), 256u);
}

TEST(AdmissionReview, ARefusalSaysWhatIsWrongAndWhatToDo) {
  const auto request = parse_review(kReview).value();
  const AdmissionAnswer refusal =
      refuse(error_of(Code::exhausted, "no free TCP port: 10 of 10 in use")
                 .about("PortPool games/rooms")
                 .with_hint("raise endPort"));
  const wire::Value answer = wire::parse_json(render_review(request, refusal)).value();
  EXPECT_EQ(wire::bool_at(answer, "/response/allowed"), false);
  EXPECT_EQ(wire::string_at(answer, "/response/status/message"),
            "PortPool games/rooms: no free TCP port: 10 of 10 in use (raise endPort)");
  EXPECT_FALSE(wire::find(answer, "/response/patch"));
}

}  // namespace
}  // namespace berth::kube
