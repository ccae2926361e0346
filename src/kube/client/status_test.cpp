#include "kube/client/status.h"

#include <gtest/gtest.h>

#include "kube/client/test_proto_writer.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;

struct Case {
  std::string_view name;
  int http_status;
  std::string_view body;
  Code code;
  std::string_view message{};
  std::string_view object{};
  std::string_view field{};
};

// Bodies as kube-apiserver 1.36 writes them.
const Case kCases[] = {
    {"not found", 404,
     R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"room-0\" not found","reason":"NotFound","details":{"name":"room-0","kind":"pods"},"code":404})",
     Code::not_found, "pods \"room-0\" not found", "pods \"room-0\""},
    {"already exists", 409,
     R"({"kind":"Status","message":"deployments.apps \"web\" already exists","reason":"AlreadyExists","details":{"name":"web","group":"apps","kind":"deployments"},"code":409})",
     Code::already_exists, "deployments.apps \"web\" already exists", "deployments.apps \"web\""},
    {"conflict", 409,
     R"({"kind":"Status","message":"the object has been modified","reason":"Conflict","details":{"name":"a","kind":"leases"},"code":409})",
     Code::conflict},
    {"expired", 410, R"({"kind":"Status","message":"too old","reason":"Expired","code":410})",
     Code::expired},
    {"gone", 410, R"({"kind":"Status","message":"too old","reason":"Gone","code":410})",
     Code::expired},
    {"timeout", 504, R"({"kind":"Status","message":"slow","reason":"Timeout","code":504})",
     Code::timeout},
    {"too new", 504,
     R"({"kind":"Status","message":"Timeout: Too large resource version: 99, current: 5","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504})",
     Code::too_new},
    {"throttled", 429,
     R"({"kind":"Status","message":"wait","reason":"TooManyRequests","details":{"retryAfterSeconds":7},"code":429})",
     Code::throttled},
    {"invalid with causes in the message", 422,
     R"({"kind":"Status","message":"Pod \"x\" is invalid: spec.containers: Required value","reason":"Invalid","details":{"name":"x","kind":"Pod","causes":[{"reason":"FieldValueRequired","message":"Required value","field":"spec.containers"}]},"code":422})",
     Code::invalid, "Pod \"x\" is invalid: spec.containers: Required value", "Pod \"x\"",
     "spec.containers"},
    {"invalid with causes beside the message", 422,
     R"({"kind":"Status","message":"bad","reason":"Invalid","details":{"causes":[{"message":"must be 1-65535","field":"spec.port"},{"message":"unknown"}]},"code":422})",
     Code::invalid, "bad; spec.port: must be 1-65535; unknown", "", "spec.port"},
    {"a webhook that does not answer, at an address that is nobody's business", 500,
     R"({"kind":"Status","message":"Internal error occurred: failed calling webhook \"pod-ports.berth.dev\": Post \"https://berth-webhooks.berth-system.svc:443/mutate-pod-ports/0123456789abcdef0123456789abcdef?timeout=10s\": EOF","reason":"InternalError","code":500})",
     Code::unavailable,
     "Internal error occurred: failed calling webhook \"pod-ports.berth.dev\": Post "
     "\"https://berth-webhooks.berth-system.svc:443/mutate-pod-ports/***?timeout=10s\": EOF"},
    {"unauthorized", 401,
     R"({"kind":"Status","message":"Unauthorized","reason":"Unauthorized","code":401})",
     Code::unauthorized},
    {"forbidden", 403, R"({"kind":"Status","message":"no","reason":"Forbidden","code":403})",
     Code::forbidden},
    {"internal", 500, R"({"kind":"Status","message":"oops","reason":"InternalError","code":500})",
     Code::unavailable},
    {"server timeout", 500,
     R"({"kind":"Status","message":"later","reason":"ServerTimeout","code":500})",
     Code::unavailable},
    {"unavailable", 503,
     R"({"kind":"Status","message":"starting","reason":"ServiceUnavailable","code":503})",
     Code::unavailable},
    {"too large", 413,
     R"({"kind":"Status","message":"limit is 3145728","reason":"RequestEntityTooLarge","code":413})",
     Code::invalid},
    {"method", 405,
     R"({"kind":"Status","message":"no PUT","reason":"MethodNotAllowed","code":405})",
     Code::unsupported},
    {"media type", 415,
     R"({"kind":"Status","message":"no CBOR","reason":"UnsupportedMediaType","code":415})",
     Code::unsupported},
    {"a reason of the future goes by its code", 409,
     R"({"kind":"Status","message":"x","reason":"Novel","code":409})", Code::conflict},
    {"a status without code goes by the answer's", 403, R"({"kind":"Status","message":"x"})",
     Code::forbidden, "x"},
    {"a status that says nothing", 503, R"({"kind":"Status"})", Code::unavailable, "HTTP 503"},
    {"wrong types inside a status", 500,
     R"({"kind":"Status","message":7,"reason":[],"details":{"causes":{"a":1},"name":5},"code":"x"})",
     Code::unavailable, "HTTP 500"},
    {"path that is not served", 404, "404 page not found\n", Code::unsupported,
     "HTTP 404: 404 page not found"},
    {"proxy page", 502, "<html>\r\n<title>Bad\tGateway</title>\x01</html>", Code::unavailable,
     "HTTP 502: <html> <title>Bad Gateway</title> </html>"},
    {"json that is no status", 500, R"({"error":"x"})", Code::unavailable,
     "HTTP 500: {\"error\":\"x\"}"},
    {"empty", 503, "", Code::unavailable, "HTTP 503"},
    {"redirect", 302, "", Code::internal, "HTTP 302"},
};

TEST(Status, ErrorsOfAnswers) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const Error error = error_from_response(c.http_status, {}, c.body);
    EXPECT_EQ(traits_of(error.code).name, traits_of(c.code).name);
    if (!c.message.empty()) {
      EXPECT_EQ(error.message, c.message);
    }
    EXPECT_EQ(error.field, c.field);
    if (!c.object.empty()) {
      EXPECT_EQ(error.object, c.object);
    }
    EXPECT_FALSE(error.message.empty());
  }
}

TEST(Status, RetryAfterComesFromTheBodyOrTheHeader) {
  const std::string_view body =
      R"({"kind":"Status","reason":"TooManyRequests","details":{"retryAfterSeconds":7},"code":429})";
  EXPECT_EQ(error_from_response(429, {{"Retry-After", "3"}}, body).retry_after, 7s);
  EXPECT_EQ(error_from_response(429, {{"retry-after", "3"}}, "").retry_after, 3s);
  EXPECT_EQ(error_from_response(503, {{"Retry-After", "999999999999"}}, "").retry_after, 1h);
  for (const std::string bad : {"", "x", "1.5", "Wed, 21 Oct 2015 07:28:00 GMT"})
    EXPECT_EQ(error_from_response(429, {{"Retry-After", bad}}, "").retry_after, std::nullopt);
}

std::string protobuf_status() {
  return proto_bytes(2, "Failure") + proto_bytes(3, "too many requests, wait") +
         proto_bytes(4, "TooManyRequests") +
         proto_bytes(5, proto_bytes(1, "room-0") + proto_bytes(3, "pods") + proto_number(5, 4)) +
         proto_number(6, 429);
}

TEST(Status, ErrorsComeAsProtobufToo) {
  const Error error = error_from_response(429, {}, proto_document("Status", protobuf_status()));
  EXPECT_EQ(error.code, Code::throttled);
  EXPECT_EQ(error.message, "too many requests, wait");
  EXPECT_EQ(error.object, "pods \"room-0\"");
  EXPECT_EQ(error.retry_after, 4s);
}

TEST(Status, BrokenProtobufIsAForeignBody) {
  const std::string whole = proto_document("Status", protobuf_status());
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const Error error = error_from_response(503, {}, whole.substr(0, n));
    EXPECT_FALSE(error.message.empty()) << n;
    EXPECT_LE(error.message.size(), kMaxForeignBody + 20) << n;
  }
  EXPECT_EQ(error_from_response(500, {}, proto_document("Pod", "")).code, Code::unavailable);
}

TEST(Status, TheAuditIdIsTheRequestId) {
  EXPECT_EQ(error_from_response(500, {{"Audit-Id", "9c1f"}}, "").request_id, "9c1f");
}

TEST(Status, LongTextsAreCut) {
  const std::string page(10'000, 'x');
  EXPECT_EQ(error_from_response(502, {}, page).message.size(),
            std::string("HTTP 502: ").size() + kMaxForeignBody);
  const std::string status = R"({"kind":"Status","code":500,"message":")" + page + "\"}";
  EXPECT_EQ(error_from_response(500, {}, status).message.size(), kMaxStatusMessage);
}

TEST(Status, PrintableNeverCutsACharacter) {
  EXPECT_EQ(printable("aé", 2), "a");
  EXPECT_EQ(printable("aé", 3), "aé");
  EXPECT_EQ(printable("\n a \x7f\t b \n", 100), "a b");
  EXPECT_EQ(printable("", 5), "");
}

}  // namespace
}  // namespace berth::kube
