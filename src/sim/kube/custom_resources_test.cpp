// Custom kinds: definitions, schemas, versions. The expected sentences were taken from
// kube-apiserver 1.36.4.
#include "sim/kube/test_client.h"

namespace berth::sim::kube {
namespace {

constexpr std::string_view kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr std::string_view kPools = "/apis/ex.dev/v1/namespaces/default/pools";

constexpr std::string_view kSpecSchema = R"({
  "type":"object","required":["lbs"],"properties":{
    "lbs":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":3},
    "start":{"type":"integer","minimum":1,"maximum":65535,"default":30000},
    "mode":{"type":"string","enum":["A","B"]},
    "name":{"type":"string","pattern":"^[a-z]+$","maxLength":5,"minLength":2},
    "any":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
    "port":{"x-kubernetes-int-or-string":true},
    "tags":{"type":"object","additionalProperties":{"type":"string"}},
    "maybe":{"type":"string","nullable":true},
    "items":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
      "items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},
        "v":{"type":"integer","default":7},
        "w":{"type":"integer","x-kubernetes-validations":[
          {"rule":"self == oldSelf","message":"fixed"}]}}}},
    "set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}})";

std::string definition(std::string_view status_subresource = R"("subresources":{"status":{}},)") {
  return fmt::format(
      R"({{"metadata":{{"name":"pools.ex.dev"}},"spec":{{"group":"ex.dev","scope":"Namespaced",
      "names":{{"plural":"pools","kind":"Pool","shortNames":["pl"]}},
      "versions":[{{"name":"v1","served":true,"storage":true,{0}
      "schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{1},
      "status":{{"type":"object","properties":{{"phase":{{"type":"string"}}}}}}}}}}}}}},
      {{"name":"v1old","served":true,"storage":false,"deprecated":true,{0}
      "schema":{{"openAPIV3Schema":{{
        "type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}}]}}}})",
      status_subresource, kSpecSchema);
}

std::string pool(std::string_view name, std::string_view spec, std::string_view more = "") {
  return fmt::format(
      R"({{"apiVersion":"ex.dev/v1","kind":"Pool","metadata":{{"name":"{}"}},"spec":{}{}}})", name,
      spec, more);
}

struct CustomKinds : TestServer, testing::Test {
  CustomKinds() { defined = post(kDefinitions, definition()); }
  Got defined;
};

TEST_F(CustomKinds, AreServedAtOnce) {
  EXPECT_EQ(defined.status, 201) << defined.text;
  EXPECT_EQ(defined.at("/status/conditions/1/type"), "Established");
  EXPECT_EQ(defined.at("/status/acceptedNames/listKind"), "PoolList");
  EXPECT_EQ(defined.at("/status/storedVersions"), R"(["v1"])");
  EXPECT_EQ(get(kPools).at("/kind"), "PoolList");
  EXPECT_EQ(get("/apis/ex.dev/v1").at("/resources/1/name"), "pools/status");
  EXPECT_EQ(get("/apis/ex.dev/v9/namespaces/default/pools").text, "404 page not found\n");
}

TEST_F(CustomKinds, ArePrunedAndDefaulted) {
  const Got made = post(kPools, pool("a",
                                     R"({"lbs":["x"],"zork":1,"start":null,"any":{"q":{"r":1}},)"
                                     R"("items":[{"name":"i","bad":1}]})",
                                     R"(,"status":{"phase":"x"},"top":1)"));
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.at("/spec"),
            R"({"lbs":["x"],"any":{"q":{"r":1}},"items":[{"name":"i","v":7}],"start":30000})");
  EXPECT_EQ(made.at("/status"), "(none)");
  EXPECT_EQ(made.at("/metadata/generation"), "1");
  EXPECT_EQ(made.warnings,
            (std::vector<std::string>{R"(299 - "unknown field \"spec.items[0].bad\"")",
                                      R"(299 - "unknown field \"spec.zork\"")",
                                      R"(299 - "unknown field \"top\"")"}));
  EXPECT_EQ(get(kPools).at("/items/0/kind"), "Pool");
}

TEST_F(CustomKinds, TakeNullForLeftOutUnlessItIsAllowed) {
  const Got made =
      post(kPools, pool("a", R"({"lbs":["x"],"mode":null,"maybe":null,"tags":{"a":null}})"));
  EXPECT_EQ(made.at("/spec"), R"({"lbs":["x"],"maybe":null,"tags":{},"start":30000})") << made.text;
  EXPECT_EQ(post(kPools, pool("b", R"({"lbs":null})")).at("/details/causes/0/message"),
            "Required value");
}

TEST_F(CustomKinds, RefuseUnknownFieldsWhenStrict) {
  const std::string strict = path(kPools, "?fieldValidation=Strict");
  const Got refused = post(strict, pool("a", R"({"lbs":["x"],"zork":1})", R"(,"top":1)"));
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(
      refused.at("/message"),
      R"(Pool in version "v1" cannot be handled as a Pool: strict decoding error: unknown field )"
      R"("spec.zork", unknown field "top")");
  post(kPools, pool("a", R"({"lbs":["x"]})"));
  const Got patched = patch(path(kPools, "/a?fieldValidation=Strict"), R"({"spec":{"zork":1}})");
  EXPECT_EQ(patched.status, 422);
  EXPECT_EQ(patched.at("/details/causes/0/field"), "patch");
}

TEST_F(CustomKinds, AreCheckedAgainstTheirSchema) {
  const auto message = [this](std::string_view spec) {
    std::string text = post(kPools, pool("a", spec)).at("/message");
    const std::string prefix = R"(Pool.ex.dev "a" is invalid: )";
    EXPECT_TRUE(text.starts_with(prefix)) << text;
    return text.substr(std::min(prefix.size(), text.size()));
  };
  const std::string unchecked =
      ", <nil>: Invalid value: null: some validation rules were not checked because the object was "
      "invalid; correct the existing errors to complete validation]";
  EXPECT_EQ(message("{}"), "[spec.lbs: Required value" + unchecked);
  EXPECT_EQ(message(R"({"lbs":[]})"),
            "spec.lbs: Invalid value: 0: spec.lbs in body should have at least 1 items");
  EXPECT_EQ(message(R"({"lbs":["a","b","c","d"]})"),
            "[spec.lbs: Too many: 4: must have at most 3 items" + unchecked);
  EXPECT_EQ(
      message(R"({"lbs":["x"],"start":70000})"),
      "spec.start: Invalid value: 70000: spec.start in body should be less than or equal to 65535");
  EXPECT_EQ(message(R"({"lbs":["x"],"mode":"C"})"),
            R"([spec.mode: Unsupported value: "C": supported values: "A", "B")" + unchecked);
  EXPECT_EQ(message(R"({"lbs":["x"],"name":"X1"})"),
            R"(spec.name: Invalid value: "X1": spec.name in body should match '^[a-z]+$')");
  EXPECT_EQ(message(R"({"lbs":["x"],"name":"toolong"})"),
            "[spec.name: Too long: may not be more than 5 bytes" + unchecked);
  EXPECT_EQ(message(R"({"lbs":["x"],"port":true})"),
            R"([spec.port: Invalid value: "boolean": spec.port in body must be of type )"
            R"(integer,string: "boolean")" +
                unchecked);
  EXPECT_EQ(
      message(R"({"lbs":["x"],"tags":{"a":5}})"),
      R"([spec.tags.a: Invalid value: "integer": spec.tags.a in body must be of type string: )"
      R"("integer")" +
          unchecked);
  EXPECT_EQ(message(R"({"lbs":["x"],"items":[{"name":"a"},{"name":"a"}],"set":["x","x"]})"),
            R"([spec.items[1]: Duplicate value: {"name":"a"}, spec.set[1]: Duplicate value: "x"])");
  EXPECT_EQ(post(kPools, pool("a", R"({"lbs":["x"],"maybe":null,"port":"80"})")).status, 201);
}

TEST_F(CustomKinds, KeepFixedFields) {
  EXPECT_EQ(post(kPools, pool("a", R"({"lbs":["x"],"items":[{"name":"i","w":1}]})")).status, 201);
  const Got changed =
      patch(path(kPools, "/a"), R"({"spec":{"items":[{"name":"n"},{"name":"i","w":2}]}})");
  EXPECT_EQ(changed.at("/message"),
            R"(Pool.ex.dev "a" is invalid: spec.items[1].w: Invalid value: 2: fixed)");
  EXPECT_EQ(patch(path(kPools, "/a"), R"({"spec":{"items":[{"name":"n","w":3}]}})").status, 200);
}

TEST_F(CustomKinds, CountGenerationsAndKeepStatusApart) {
  post(kPools, pool("a", R"({"lbs":["x"]})"));
  const Got main = patch(path(kPools, "/a"), R"({"spec":{"start":5},"status":{"phase":"no"}})");
  EXPECT_EQ(main.at("/metadata/generation"), "2");
  EXPECT_EQ(main.at("/status"), "(none)");
  const Got status =
      patch(path(kPools, "/a/status"),
            R"({"metadata":{"labels":{"a":"b"}},"spec":{"start":6},"status":{"phase":"up"}})");
  EXPECT_EQ(status.at("/metadata/generation"), "2");
  EXPECT_EQ(status.at("/metadata/labels"), "(none)");
  EXPECT_EQ(status.at("/spec/start"), "5");
  EXPECT_EQ(status.at("/status/phase"), "up");
  EXPECT_EQ(
      patch(path(kPools, "/a"), R"({"metadata":{"labels":{"a":"b"}}})").at("/metadata/generation"),
      "2");
}

// A definition that was ending when the backup was made ends after it, when nothing waits any more;
// one that was gone when it is put back is served again.
TEST_F(CustomKinds, AreServedAsABackupSays) {
  const std::string mine = path(kPools, "/a");
  post(kPools, pool("a", R"({"lbs":["x"]})"));
  const auto whole = server.backup();
  patch(mine, R"({"metadata":{"finalizers":["ex.dev/hold"]}})");
  remove(path(kDefinitions, "/pools.ex.dev"));
  const auto ending = server.backup();
  patch(mine, R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(get(kPools).status, 404);

  server.restore(*whole);
  EXPECT_EQ(get(mine).at("/spec/start"), "30000");
  server.restore(*ending);
  EXPECT_EQ(get(mine).at("/metadata/finalizers"), R"(["ex.dev/hold"])");
  server.restore(*whole, "pools");
  server.restore(*ending, "customresourcedefinitions");
  EXPECT_EQ(remove(mine).status, 200);
  EXPECT_EQ(get(path(kDefinitions, "/pools.ex.dev")).status, 404);
  server.restore(*ending, "customresourcedefinitions");
  EXPECT_EQ(get(path(kDefinitions, "/pools.ex.dev")).status, 404) << "nothing waits for it";
}

// What one server does with what it began with is nothing to others.
TEST_F(CustomKinds, AreThereForAServerThatBeginsWithABackup) {
  post(kPools, pool("a", R"({"lbs":["x"]})"));
  const std::uint64_t version = server.resource_version();
  TestServer next(ServerOptions{.seed = 2, .begins_with = server.backup()});
  EXPECT_EQ(next.server.resource_version(), version);
  EXPECT_EQ(next.get(path(kPools, "/a")).text, get(path(kPools, "/a")).text);
  EXPECT_EQ(next.post(kPools, pool("b", R"({"lbs":["y"]})")).at("/metadata/resourceVersion"),
            std::to_string(version + 1));
  EXPECT_EQ(next.remove(path(kDefinitions, "/pools.ex.dev")).status, 200);
  EXPECT_EQ(next.get(kPools).status, 404);
  EXPECT_EQ(get(kPools).at("/items/0/metadata/name"), "a");
  EXPECT_EQ(get(path(kPools, "/b")).status, 404);

  TestServer third(ServerOptions{.begins_with = server.backup()});
  const Got old = third.get(path(kPools, "?watch=true&resourceVersion=2"));
  EXPECT_EQ(wire::string_at(read_events(old).list.at(0), "/object/reason"), "Expired");
}

TEST(FieldOwners, AreNotNotedWhereNobodyLooks) {
  TestServer kube(ServerOptions{.tracks_fields = false});
  EXPECT_EQ(kube.post(kDefinitions, definition()).at("/metadata/managedFields"), "(none)");
  const std::string mine = path(kPools, "/a");
  const std::string wanted = pool("a", R"({"lbs":["x"],"start":5})");
  const Got applied = kube.call("PATCH", mine + "?fieldManager=m", wanted, kApplyPatch);
  EXPECT_EQ(applied.status, 201) << applied.text;
  EXPECT_EQ(applied.at("/metadata/managedFields"), "(none)");
  EXPECT_EQ(kube.patch(mine, R"({"spec":{"start":6}})").at("/metadata/managedFields"), "(none)");
  const Got back = kube.call("PATCH", mine + "?fieldManager=m&force=true", wanted, kApplyPatch);
  EXPECT_EQ(back.at("/spec/start"), "5");
  EXPECT_EQ(back.at("/metadata/managedFields"), "(none)");
  // What came with owners keeps them as they are.
  TestServer owned;
  owned.post(kConfigMaps, R"({"metadata":{"name":"c"},"data":{"k":"v"}})");
  TestServer next(ServerOptions{.tracks_fields = false, .begins_with = owned.server.backup()});
  const std::string map = path(kConfigMaps, "/c");
  const Got before = next.get(map);
  EXPECT_NE(before.at("/metadata/managedFields"), "(none)");
  EXPECT_EQ(next.call("PUT", map, before.text).at("/metadata/managedFields"),
            before.at("/metadata/managedFields"));
  EXPECT_EQ(next.patch(map, R"({"data":{"a":"b"}})").at("/metadata/managedFields"),
            before.at("/metadata/managedFields"));
}

// An object is written out once and shown several times.
TEST_F(CustomKinds, LookTheSameWhereverTheyAreShown) {
  const Got made = post(kPools, pool("a", R"({"lbs":["x"]})"));
  const Got old = get("/apis/ex.dev/v1old/namespaces/default/pools/a");
  EXPECT_EQ(old.at("/apiVersion"), "ex.dev/v1old");
  EXPECT_EQ(get(path(kPools, "/a")).text, made.text);
  EXPECT_EQ(get(kPools).at("/items/0"), wire::to_json(made.body));
  const Got watch = get(path(kPools, "?watch=true"));
  EXPECT_EQ(*wire::find(read_events(watch).list.at(0), "/object"), made.body);
  const Got changed = patch(path(kPools, "/a"), R"({"spec":{"start":5}})");
  EXPECT_EQ(changed.at("/spec/start"), "5");
  EXPECT_EQ(*wire::find(read_events(watch).list.at(0), "/object"), changed.body);
  EXPECT_EQ(get("/apis/ex.dev/v1old/namespaces/default/pools/a").at("/spec/start"), "5");
}

TEST(CustomKindsWithoutStatus, CountStatusAsAChange) {
  TestServer kube;
  kube.post(kDefinitions, definition(""));
  kube.post(kPools, pool("a", R"({"lbs":["x"]})"));
  EXPECT_EQ(
      kube.patch(path(kPools, "/a"), R"({"status":{"phase":"up"}})").at("/metadata/generation"),
      "2");
  EXPECT_EQ(kube.patch(path(kPools, "/a/status"), "{}").status, 404);
}

TEST_F(CustomKinds, AreRefusedWithAWrongTypeOrVersion) {
  EXPECT_EQ(post(kPools, R"({"metadata":{"name":"a"},"spec":{"lbs":["x"]}})").status, 400);
  EXPECT_EQ(post(kPools, R"({"apiVersion":"ex.dev/v2","kind":"Pool","metadata":{"name":"a"}})")
                .at("/message"),
            "the API version in the data (ex.dev/v2) does not match the expected API version "
            "(ex.dev/v1)");
  EXPECT_EQ(post(kPools, R"({"apiVersion":"ex.dev/v1","kind":"Pol","metadata":{"name":"a"}})")
                .at("/message"),
            R"(Pol.ex.dev "a" is invalid: kind: Invalid value: "Pol": must be Pool)");
  post(kPools, pool("a", R"({"lbs":["x"]})"));
  EXPECT_EQ(put(path(kPools, "/a"), pool("a", R"({"lbs":["y"]})")).at("/message"),
            R"(pools.ex.dev "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be )"
            "specified for an update");
  EXPECT_EQ(patch(path(kPools, "/a"), "{}", "application/strategic-merge-patch+json").status, 415);
}

TEST_F(CustomKinds, AreServedInSeveralVersions) {
  post(kPools, pool("a", R"({"lbs":["x"]})"));
  const Got old = get("/apis/ex.dev/v1old/namespaces/default/pools/a");
  EXPECT_EQ(old.at("/apiVersion"), "ex.dev/v1old");
  EXPECT_EQ(old.warnings, std::vector<std::string>{
                              R"(299 - "ex.dev/v1old Pool is deprecated; use ex.dev/v1 Pool")"});
  const Got patched =
      patch("/apis/ex.dev/v1old/namespaces/default/pools/a", R"({"spec":{"start":9}})");
  EXPECT_EQ(patched.at("/apiVersion"), "ex.dev/v1old");
  EXPECT_EQ(get(path(kPools, "/a")).at("/apiVersion"), "ex.dev/v1");
}

TEST_F(CustomKinds, WarnAboutFinalizersWithoutADomain) {
  const Got made = post(
      kPools,
      R"({"apiVersion":"ex.dev/v1","kind":"Pool","metadata":{"name":"a","finalizers":["f"]}})");
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.warnings.size(), 1u);
  EXPECT_NE(made.warnings[0].find("prefer a domain-qualified finalizer name to avoid"),
            std::string::npos);
}

TEST_F(CustomKinds, AreMergedByKeysWhenApplied) {
  post(kPools, pool("a", R"({"lbs":["x"],"items":[{"name":"i","w":1}],"set":["p"]})"));
  const Got applied = patch(path(kPools, "/a?fieldManager=m&force=true"),
                            R"({"apiVersion":"ex.dev/v1","kind":"Pool","spec":{"lbs":["y"],)"
                            R"("items":[{"name":"j"},{"name":"i","v":2}],"set":["q"]}})",
                            kApplyPatch);
  EXPECT_EQ(applied.status, 200) << applied.text;
  EXPECT_EQ(applied.at("/spec/lbs"), R"(["y"])");
  EXPECT_EQ(applied.at("/spec/items"), R"([{"name":"j","v":7},{"name":"i","w":1,"v":2}])");
  EXPECT_EQ(applied.at("/spec/set"), R"(["p","q"])");
}

TEST_F(CustomKinds, GoWithTheirDefinition) {
  post(kPools, pool("a", R"({"lbs":["x"]})"));
  post(
      kPools,
      R"({"apiVersion":"ex.dev/v1","kind":"Pool","metadata":{"name":"b","finalizers":["x.y/z"]}})");
  const std::string url = path(kDefinitions, "/pools.ex.dev");
  const Got watch = get(path(kPools, "?watch=1"));
  EXPECT_NE(remove(url).at("/metadata/deletionTimestamp"), "(none)");
  EXPECT_EQ(get(path(kPools, "/a")).status, 404);
  EXPECT_NE(get(path(kPools, "/b")).at("/metadata/deletionTimestamp"), "(none)");
  EXPECT_EQ(get(url).status, 200);
  patch(path(kPools, "/b"), R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(get(url).status, 404);
  EXPECT_EQ(get(kPools).text, "404 page not found\n");
  const Events events = read_events(watch);
  EXPECT_EQ(events.summary(), "ADDED a, ADDED b, DELETED a, MODIFIED b, DELETED b");
  EXPECT_TRUE(events.ended);
}

TEST(Definitions, MustBeStructural) {
  TestServer kube;
  const auto post = [&kube](std::string_view name, std::string_view rest) {
    return kube
        .post(kDefinitions,
              fmt::format(
                  R"({{"metadata":{{"name":"{}"}},"spec":{{"group":"e.d","scope":"Namespaced",)"
                  R"("names":{{"plural":"xs","kind":"X"}},"versions":[{{"name":"v1",)"
                  R"("served":true,"storage":true{}}}]}}}})",
                  name, rest))
        .at("/message");
  };
  const std::string prefix =
      R"(CustomResourceDefinition.apiextensions.k8s.io "xs.e.d" is invalid: )";
  EXPECT_EQ(post("xs.e.d", ""), prefix + "spec.versions[0].schema.openAPIV3Schema: Required value");
  EXPECT_EQ(
      post("xs.e.d", R"(,"schema":{"openAPIV3Schema":{"properties":{"a":{}}}})"),
      prefix +
          "[spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty "
          "for specified object fields, spec.validation.openAPIV3Schema.type: Required value: must "
          "not be empty at the root]");
  EXPECT_EQ(post("xs.e.d",
                 R"(,"schema":{"openAPIV3Schema":{"type":"object","properties":{"g":)"
                 R"({"type":"object","default":{"a":1},"properties":{"a":{"type":"string"}}}}}})"),
            prefix + R"(spec.validation.openAPIV3Schema.properties[g].default.a: Invalid value: )"
                     R"("integer": a in body must be of type string: "integer")");
  EXPECT_EQ(post("xs.e.d", R"(,"schema":{"openAPIV3Schema":{"type":"object","properties":{)"
                           R"("d":{"type":"array"},"q":{"type":"zz"}}}})"),
            prefix +
                "[spec.validation.openAPIV3Schema.properties[d].items: Required value: must be "
                "specified, spec.validation.openAPIV3Schema.properties[q].type: Unsupported value: "
                "\"zz\": "
                "supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", "
                "\"string\"]");
  EXPECT_EQ(
      post("x", R"(,"schema":{"openAPIV3Schema":{"type":"object"}})"),
      R"(CustomResourceDefinition.apiextensions.k8s.io "x" is invalid: metadata.name: Invalid )"
      R"(value: "x": must be spec.names.plural+"."+spec.group)");
}

}  // namespace
}  // namespace berth::sim::kube
