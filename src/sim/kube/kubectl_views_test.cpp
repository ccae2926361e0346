// What kubectl needs beside objects: tables, schemas, discovery, and questions.
// That the answers are those of a real server is tests/parity's business; here is what parity
// cannot see: malformed input, time, and versions that the real server dropped.
#include <set>

#include "sim/kube/field_table.h"
#include "sim/kube/json_path.h"
#include "sim/kube/request_info.h"
#include "sim/kube/table_columns.h"
#include "sim/kube/test_client.h"

namespace berth::sim::kube {
namespace {

using wire::Value;

constexpr std::string_view kTable = "application/json;as=Table;v=v1;g=meta.k8s.io";

Got get_table(TestServer& api, std::string_view url) {
  return api.call("GET", std::string(url), {}, "application/json",
                  {{"Accept", std::string(kTable)}});
}

std::string first_at(std::string_view path, const Value& value) {
  const auto parsed = JsonPath::parse(path);
  if (!parsed) return "(refused)";
  const Value* found = parsed->first(value);
  return found == nullptr ? "(none)" : wire::to_json(*found);
}

TEST(JsonPathTest, FindsTheFirstValue) {
  const Value value = wire::parse_json(R"({"a":{"b.c":1,"list":[{"n":"x"},{"n":"y","v":2},7]},
                                           "e":[]})")
                          .value();
  EXPECT_EQ(first_at(".a['b.c']", value), "1");
  EXPECT_EQ(first_at(R"(.a.b\.c)", value), "1");
  EXPECT_EQ(first_at(".a.list[1].n", value), R"("y")");
  EXPECT_EQ(first_at(".a.list[-1]", value), "7");
  EXPECT_EQ(first_at(".a.list[-4]", value), "(none)");
  EXPECT_EQ(first_at(".a.list[*].v", value), "2");  // the first that has one
  EXPECT_EQ(first_at(R"(.a.list[?(@.n=="y")].v)", value), "2");
  EXPECT_EQ(first_at(R"(.a.list[?(@.n == 'z')].v)", value), "(none)");
  EXPECT_EQ(first_at(".e[*].x", value), "(none)");
  EXPECT_EQ(first_at(".a.none.deeper", value), "(none)");
}

TEST(JsonPathTest, RefusesWhatItDoesNotKnow) {
  for (const char* path : {"a", ".a[", ".a[x]", ".a..b", ".", ".a[?(@.n>1)]", ".a[?(@.n==1)]",
                           ".a[1:2]", ".a[99999999999999999999]"}) {
    EXPECT_FALSE(JsonPath::parse(path)) << path;
  }
}

TEST(HumanDurationTest, KeepsTheDigitsThatMatter) {
  using namespace std::chrono;
  const std::pair<seconds, const char*> cases[] = {
      {seconds{-5}, "<invalid>"}, {seconds{-1}, "0s"},       {seconds{119}, "119s"},
      {seconds{120}, "2m"},       {seconds{599}, "9m59s"},   {minutes{179}, "179m"},
      {hours{3}, "3h"},           {minutes{200}, "3h20m"},   {hours{47}, "47h"},
      {hours{48}, "2d"},          {hours{50}, "2d2h"},       {hours{24 * 8}, "8d"},
      {hours{24 * 729}, "729d"},  {hours{24 * 731}, "2y1d"}, {hours{24 * 365 * 9}, "9y"}};
  for (const auto& [span, text] : cases) EXPECT_EQ(human_duration(span), text) << span.count();
}

TEST(TablesTest, AgesAreAsOfTheAnswer) {
  TestServer api;
  api.config_map("a");
  api.now += std::chrono::minutes{5};
  EXPECT_EQ(get_table(api, path(kConfigMaps, "/a")).at("/rows/0/cells"), R"(["a",1,"5m"])");
  const Got watch = get_table(api, path(kConfigMaps, "?watch=1"));
  EXPECT_EQ(read_events(watch).list.size(), 1u);
  api.now += std::chrono::hours{1};
  api.patch(path(kConfigMaps, "/a"), R"({"data":{"more":"x"}})");
  const Events events = read_events(watch);
  ASSERT_EQ(events.list.size(), 1u);
  EXPECT_EQ(wire::to_json(*wire::find(events.list[0], "/object/rows/0/cells")), R"(["a",2,"65m"])");
}

TEST(FieldTableTest, EveryMessageIsThereAndNumbersAreUnique) {
  for (const auto& [name, message] : field_table()) {
    EXPECT_EQ(message.name, name) << "mentioned, but not described";
    EXPECT_FALSE(message.fields.empty()) << name;
    std::set<std::uint32_t> numbers;
    for (const Field& field : message.fields) {
      EXPECT_GT(field.number, 0u) << name << "." << field.name;
      EXPECT_TRUE(numbers.insert(field.number).second) << name << "." << field.name;
    }
  }
}

TEST(OldIngressTest, IsTheSameObjectInBothVersions) {
  TestServer api;
  const std::string old = "/apis/networking.k8s.io/v1beta1/namespaces/default/ingresses";
  const std::string now = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
  const Got made = api.post(old, R"({"apiVersion":"networking.k8s.io/v1beta1","kind":"Ingress",
      "metadata":{"name":"i"},"spec":{"backend":{"serviceName":"d","servicePort":"web"},
      "rules":[{"http":{"paths":[{"path":"/","backend":{"serviceName":"s","servicePort":80}}]}}]}})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.warnings.size(), 1u);
  EXPECT_EQ(made.at("/spec/backend"), R"({"serviceName":"d","servicePort":"web"})");
  const Got seen = api.get(now + "/i");
  EXPECT_EQ(seen.at("/apiVersion"), "networking.k8s.io/v1");
  EXPECT_EQ(seen.at("/spec/defaultBackend"), R"({"service":{"name":"d","port":{"name":"web"}}})");
  EXPECT_EQ(seen.at("/spec/rules/0/http/paths/0"),
            R"({"path":"/","backend":{"service":{"name":"s","port":{"number":80}}},)"
            R"("pathType":"ImplementationSpecific"})");
  const Got patched = api.patch(old + "/i", R"({"spec":{"backend":{"servicePort":81}}})");
  EXPECT_EQ(patched.at("/spec/backend"), R"({"serviceName":"d","servicePort":81})");
  EXPECT_EQ(patched.at("/metadata/generation"), "2");
  EXPECT_EQ(api.get(now + "/i").at("/spec/defaultBackend/service/port"), R"({"number":81})");
  const Got list = api.get(old);
  EXPECT_EQ(list.at("/apiVersion"), "networking.k8s.io/v1beta1");
  EXPECT_EQ(list.at("/items/0/spec/backend/serviceName"), "d");
  EXPECT_EQ(api.post(old, R"({"metadata":{"name":"j"},"spec":{}})").status, 422);
}

TEST(OpenApiTest, EveryReferenceLeadsSomewhere) {
  TestServer api;
  const Got index = api.get("/openapi/v3");
  const auto* paths = wire::object_at(index.body, "/paths");
  ASSERT_NE(paths, nullptr);
  EXPECT_TRUE(paths->contains("api/v1"));
  for (const auto& entry : *paths) {
    const Got document = api.get(wire::string_at(entry.value(), "/serverRelativeURL"));
    ASSERT_EQ(document.status, 200) << entry.key();
    const auto* schemas = wire::object_at(document.body, "/components/schemas");
    ASSERT_NE(schemas, nullptr);
    constexpr std::string_view kReference = R"("$ref":"#/components/schemas/)";
    for (std::size_t at = document.text.find(kReference); at != std::string::npos;
         at = document.text.find(kReference, at + 1)) {
      const std::size_t begin = at + kReference.size();
      const std::string name = document.text.substr(begin, document.text.find('"', begin) - begin);
      EXPECT_TRUE(schemas->contains(name)) << name << " in " << entry.key();
    }
  }
}

TEST(OpenApiTest, ADocumentMovesWhenItsKindsChange) {
  TestServer api;
  const auto address = [&api] {
    return api.get("/openapi/v3").at("/paths/apis~1ex.dev~1v1/serverRelativeURL");
  };
  const std::string definition =
      R"({"metadata":{"name":"rooms.ex.dev"},"spec":{"group":"ex.dev","scope":"Namespaced",
      "names":{"plural":"rooms","kind":"Room"},"versions":[{"name":"v1","served":true,
      "storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})";
  EXPECT_EQ(address(), "(none)");
  const std::string url = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  ASSERT_EQ(api.post(url, definition).status, 201);
  const std::string before = address();
  EXPECT_TRUE(before.starts_with("/openapi/v3/apis/ex.dev/v1?hash="));
  EXPECT_EQ(address(), before);
  ASSERT_EQ(api.patch(url + "/rooms.ex.dev",
                      R"([{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/description",
                           "value":"A place."}])",
                      kJsonPatch)
                .status,
            200);
  EXPECT_NE(address(), before);
}

TEST(ReviewsTest, AnswerForTheOneWhoAsks) {
  ServerOptions options;
  options.access.tokens["t"] = User{"carol", {"readers"}};
  options.access.authorizer = [](const User& user, const RequestInfo& request) {
    return user.name == "carol" && request.resource == "pods" && request.verb == "get";
  };
  TestServer api(std::move(options));
  const auto ask = [&api](std::string_view path, std::string body) {
    return api.call("POST", std::string(path), std::move(body), "application/json",
                    {{"Authorization", "Bearer t"}});
  };
  const std::string_view can = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const std::string get = R"({"spec":{"resourceAttributes":{"resource":"pods","verb":"get"}}})";
  const std::string del = R"({"spec":{"resourceAttributes":{"resource":"pods","verb":"delete"}}})";
  EXPECT_EQ(ask(can, get).at("/status/allowed"), "true");
  EXPECT_EQ(ask(can, del).at("/status/allowed"), "false");
  EXPECT_EQ(ask("/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}").at("/status/userInfo"),
            R"({"username":"carol","groups":["readers","system:authenticated"]})");
}

}  // namespace
}  // namespace berth::sim::kube
