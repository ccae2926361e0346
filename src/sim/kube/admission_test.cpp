// Admission webhooks as both sides see them.
#include "base/encoding.h"
#include "sim/kube/match_conditions.h"
#include "sim/kube/test_client.h"

namespace berth::sim::kube {
namespace {

constexpr std::string_view kMutating =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
constexpr std::string_view kValidating =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

// Webhooks as functions by URL. Each call is kept.
struct Hooks final : WebhookCaller {
  using Respond = std::function<wire::Object(const wire::Value& request)>;
  struct Call {
    std::string url;
    wire::Value request;
    Duration timeout;
  };

  Result<net::Response> call(const WebhookTarget& target, const std::string& body,
                             Duration timeout) override {
    EXPECT_EQ(locks_held(), 0);
    const wire::Value review = wire::parse_json(body).value();
    const wire::Value& request = review.at("request");
    calls.push_back({target.url, request, timeout});
    const auto found = responses.find(target.url);
    if (found == responses.end()) return fail(Code::unavailable, "connection refused");
    wire::Object response = found->second(request);
    response["uid"] = request.at("uid");
    return net::Response{.status = 200,
                         .body = wire::to_json(wire::Object{{"apiVersion", "admission.k8s.io/v1"},
                                                            {"kind", "AdmissionReview"},
                                                            {"response", std::move(response)}})};
  }

  std::map<std::string, Respond> responses;
  std::vector<Call> calls;
};

wire::Object allow() { return {{"allowed", true}}; }
wire::Object allow_with(std::string_view patch) {
  return {{"allowed", true}, {"patchType", "JSONPatch"}, {"patch", base64_encode(patch)}};
}

struct Webhooks : testing::Test {
  static ServerOptions options(Hooks& hooks) {
    ServerOptions options;
    options.webhooks = &hooks;
    return options;
  }
  Got configure(std::string_view url, std::string_view name, std::string_view hook_url,
                std::string_view more = "", std::string_view resources = R"("configmaps")") {
    return kube.post(url,
                     fmt::format(R"({{"metadata":{{"name":"{0}"}},"webhooks":[{{"name":"{0}.x.y",
      "clientConfig":{{"url":"{1}"}},"sideEffects":"NoneOnDryRun","admissionReviewVersions":["v1"],
      "rules":[{{"apiGroups":["*"],"apiVersions":["*"],"operations":["CREATE","UPDATE","DELETE"],
      "resources":[{3}]}}]{2}}}]}})",
                                 name, hook_url, more, resources));
  }
  Hooks hooks;
  TestServer kube{options(hooks)};
};

TEST_F(Webhooks, ChangeWhatIsStored) {
  EXPECT_EQ(configure(kMutating, "m", "https://m").status, 201);
  hooks.responses["https://m"] = [](const wire::Value&) {
    wire::Object response =
        allow_with(R"([{"op":"add","path":"/metadata/labels","value":{"added":"yes"}}])");
    response["warnings"] = wire::Array{"mind the \"gap\""};
    return response;
  };
  const Got made = kube.post(kConfigMaps, R"({"metadata":{"generateName":"a-"},"data":{"k":"v"}})");
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.at("/metadata/labels/added"), "yes");
  EXPECT_EQ(made.warnings, std::vector<std::string>{R"(299 - "mind the \"gap\"")"});

  ASSERT_EQ(hooks.calls.size(), 1u);
  const wire::Value& request = hooks.calls[0].request;
  EXPECT_EQ(wire::string_at(request, "/operation"), "CREATE");
  EXPECT_EQ(wire::string_at(request, "/namespace"), "default");
  EXPECT_EQ(wire::string_at(request, "/resource/resource"), "configmaps");
  EXPECT_EQ(wire::string_at(request, "/object/kind"), "ConfigMap");
  EXPECT_EQ(wire::string_at(request, "/options/kind"), "CreateOptions");
  // Neither name nor uid exist before a mutating hook has answered.
  EXPECT_EQ(wire::find(request, "/name"), nullptr);
  EXPECT_EQ(wire::find(request, "/object/metadata/uid"), nullptr);
  EXPECT_EQ(hooks.calls[0].timeout, std::chrono::seconds{10});
}

TEST_F(Webhooks, RefuseInTheServersWords) {
  configure(kValidating, "v", "https://v");
  hooks.responses["https://v"] = [](const wire::Value& request) {
    EXPECT_EQ(wire::string_at(request, "/name"), "a");
    return wire::Object{{"allowed", false},
                        {"status", wire::Object{{"code", 403}, {"message", "no room"}}}};
  };
  const Got refused = kube.config_map("a");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.at("/message"), R"(admission webhook "v.x.y" denied the request: no room)");
  hooks.responses["https://v"] = [](const wire::Value&) {
    return wire::Object{{"allowed", false}};
  };
  const Got silent = kube.config_map("a");
  EXPECT_EQ(silent.status, 400);
  EXPECT_EQ(silent.at("/message"),
            R"(admission webhook "v.x.y" denied the request without explanation)");
  EXPECT_EQ(kube.get(path(kConfigMaps, "/a")).status, 404);
}

TEST_F(Webhooks, ThatAreDownFailOrAreIgnored) {
  configure(kMutating, "m", "https://down");
  const Got refused = kube.config_map("a");
  EXPECT_EQ(refused.status, 500);
  EXPECT_EQ(refused.at("/message"),
            R"(Internal error occurred: failed calling webhook "m.x.y": failed to call webhook: )"
            "connection refused");
  kube.remove(path(kMutating, "/m"));
  configure(kMutating, "m", "https://down", R"(,"failurePolicy":"Ignore","timeoutSeconds":2)");
  EXPECT_EQ(kube.config_map("a").status, 201);
  EXPECT_EQ(hooks.calls.back().timeout, std::chrono::seconds{2});
}

TEST_F(Webhooks, SeeOnlyWhatTheySelect) {
  hooks.responses["https://m"] = [](const wire::Value&) { return allow(); };
  configure(kMutating, "m", "https://m",
            R"(,"namespaceSelector":{"matchLabels":{"ports":"on"}},)"
            R"("objectSelector":{"matchExpressions":[{"key":"skip","operator":"DoesNotExist"}]},)"
            R"("matchConditions":[{"name":"c","expression":"has(object.metadata.annotations) && )"
            R"('pool' in object.metadata.annotations && )"
            R"(object.metadata.annotations['pool'] != 'false'"}])");
  const auto create = [this](std::string_view ns, std::string_view metadata) {
    hooks.calls.clear();
    const Got made =
        kube.post(fmt::format("/api/v1/namespaces/{}/configmaps", ns),
                  fmt::format(R"({{"metadata":{{"generateName":"x-"{}}}}})", metadata));
    EXPECT_EQ(made.status, 201) << made.text;
    return hooks.calls.size();
  };
  kube.post("/api/v1/namespaces", R"({"metadata":{"name":"games","labels":{"ports":"on"}}})");
  const std::string wanted = R"(,"annotations":{"pool":"p"})";
  EXPECT_EQ(create("games", wanted), 1u);
  EXPECT_EQ(create("default", wanted), 0u);
  EXPECT_EQ(create("games", ""), 0u);
  EXPECT_EQ(create("games", R"(,"annotations":{"pool":"false"})"), 0u);
  EXPECT_EQ(create("games", R"(,"annotations":{"pool":"p"},"labels":{"skip":""})"), 0u);
}

TEST_F(Webhooks, SeeSubresourcesOnlyWhenTheyAskForThem) {
  hooks.responses["https://m"] = [](const wire::Value&) { return allow(); };
  configure(kMutating, "m", "https://m", "", R"("pods/status")");
  kube.post(kPods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(hooks.calls.size(), 0u);
  kube.patch(path(kPods, "/p/status"), R"({"status":{"phase":"Running"}})");
  ASSERT_EQ(hooks.calls.size(), 1u);
  EXPECT_EQ(wire::string_at(hooks.calls[0].request, "/subResource"), "status");
  EXPECT_EQ(wire::string_at(hooks.calls[0].request, "/oldObject/status/phase"), "Pending");
}

TEST_F(Webhooks, AreToldOfDryRunsAndDeletions) {
  hooks.responses["https://v"] = [](const wire::Value&) { return allow(); };
  configure(kValidating, "v", "https://v");
  kube.post(path(kConfigMaps, "?dryRun=All"), R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(wire::bool_at(hooks.calls.back().request, "/dryRun"), true);
  kube.config_map("a");
  kube.remove(path(kConfigMaps, "/a"));
  const wire::Value& last = hooks.calls.back().request;
  EXPECT_EQ(wire::string_at(last, "/operation"), "DELETE");
  EXPECT_TRUE(last.at("object").is_null());
  EXPECT_EQ(wire::string_at(last, "/oldObject/metadata/name"), "a");
}

TEST_F(Webhooks, AreCalledAgainWhenALaterOneChangedTheObject) {
  const auto add = [](std::string key) {
    return [key](const wire::Value&) {
      return allow_with(fmt::format(R"([{{"op":"add","path":"/data/{}","value":"1"}}])", key));
    };
  };
  hooks.responses["https://a"] = add("a");
  hooks.responses["https://b"] = add("b");
  configure(kMutating, "a", "https://a", R"(,"reinvocationPolicy":"IfNeeded")");
  configure(kMutating, "b", "https://b", R"(,"reinvocationPolicy":"IfNeeded")");
  EXPECT_EQ(kube.config_map("x").at("/data"), R"({"k":"v","a":"1","b":"1"})");
  ASSERT_EQ(hooks.calls.size(), 3u);
  EXPECT_EQ(hooks.calls[2].url, "https://a");
  EXPECT_NE(hooks.calls[0].request.at("uid"), hooks.calls[2].request.at("uid"));
}

TEST_F(Webhooks, MayWriteToTheServerThatWaitsForThem) {
  configure(kMutating, "m", "https://m", "", R"("pods")");
  hooks.responses["https://m"] = [this](const wire::Value&) {
    EXPECT_EQ(kube.config_map("claim").status, 201);
    return allow();
  };
  const Got made = kube.post(
      kPods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(made.status, 201);
}

TEST_F(Webhooks, DoNotHideAConflict) {
  kube.config_map("a");
  configure(kMutating, "m", "https://m");
  bool first = true;
  hooks.responses["https://m"] = [&](const wire::Value&) {
    if (std::exchange(first, false)) {
      EXPECT_EQ(kube.patch(path(kConfigMaps, "/a"), R"({"data":{"other":"1"}})").status, 200);
    }
    return allow();
  };
  // A patch is made again on what is there now.
  const Got patched = kube.patch(path(kConfigMaps, "/a"), R"({"data":{"mine":"1"}})");
  EXPECT_EQ(patched.at("/data"), R"({"k":"v","other":"1","mine":"1"})");
  first = true;
  const std::string version = kube.get(path(kConfigMaps, "/a")).at("/metadata/resourceVersion");
  hooks.responses["https://m"] = [&](const wire::Value&) {
    if (std::exchange(first, false))
      kube.patch(path(kConfigMaps, "/a"), R"({"data":{"other":"2"}})");
    return allow();
  };
  EXPECT_EQ(
      kube.put(path(kConfigMaps, "/a"),
               fmt::format(R"({{"metadata":{{"name":"a","resourceVersion":"{}"}}}})", version))
          .status,
      409);
}

TEST_F(Webhooks, AreCheckedThemselves) {
  const Got bad = kube.post(
      kMutating,
      R"({"metadata":{"name":"w"},"webhooks":[{"name":"x","clientConfig":{"url":"https://h/"}}]})");
  EXPECT_EQ(
      bad.at("/message"),
      R"(MutatingWebhookConfiguration.admissionregistration.k8s.io "w" is invalid: )"
      R"([webhooks[0].name: Invalid value: "x": should be a domain with at least three segments )"
      "separated by dots, webhooks[0].sideEffects: Required value: must specify one of None, "
      "NoneOnDryRun, webhooks[0].admissionReviewVersions: Required value: must specify one of "
      "v1, v1beta1]");
}

TEST(MatchConditions, FollowCel) {
  const wire::Value variables =
      wire::parse_json(
          R"({"object":{"metadata":{"labels":{"a":"b"},"name":"n"},"n":3},"oldObject":null,)"
          R"("request":{"operation":"CREATE"}})")
          .value();
  const auto holds = [&](std::string_view text) {
    const Result<bool> result = evaluate_condition(text, variables);
    return result ? (*result ? "true" : "false") : "error";
  };
  EXPECT_STREQ(holds("has(object.metadata.labels) && 'a' in object.metadata.labels"), "true");
  EXPECT_STREQ(holds("has(object.metadata.annotations) && 'a' in object.metadata.annotations"),
               "false");
  EXPECT_STREQ(
      holds("!has(object.metadata.annotations) || object.metadata.annotations['x'] == 'y'"),
      "true");
  EXPECT_STREQ(holds("object.metadata.annotations['x'] == 'y'"), "error");
  EXPECT_STREQ(holds("object.metadata.labels[\"a\"] == 'b' && object.n == 3"), "true");
  EXPECT_STREQ(holds("request.operation in ['CREATE', 'UPDATE']"), "true");
  EXPECT_STREQ(holds("!(request.operation == 'DELETE') && oldObject == null"), "true");
  EXPECT_STREQ(holds("false && object.missing"), "false");
  EXPECT_STREQ(holds("true || nonsense("), "error");
  EXPECT_STREQ(holds("object.n"), "error");
  EXPECT_STREQ(holds("'a' =="), "error");
}

}  // namespace
}  // namespace berth::sim::kube
