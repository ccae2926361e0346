// create, get, update, patch and delete, as a client sees them. The expected sentences were taken
// from kube-apiserver 1.36.4.
#include "sim/kube/test_client.h"

namespace berth::sim::kube {
namespace {

TEST(Create, FillsTheMetadata) {
  TestServer kube;
  const Got got = kube.config_map("a");
  EXPECT_EQ(got.status, 201);
  EXPECT_EQ(got.at("/kind"), "ConfigMap");
  EXPECT_EQ(got.at("/metadata/namespace"), "default");
  EXPECT_EQ(got.at("/metadata/creationTimestamp"), "2026-01-02T03:04:05Z");
  EXPECT_EQ(got.at("/metadata/uid").size(), 36u);
  EXPECT_EQ(got.at("/metadata/resourceVersion"), std::to_string(kube.server.resource_version()));
  EXPECT_EQ(got.at("/metadata/generation"), "(none)");
  EXPECT_EQ(kube.get(path(kConfigMaps, "/a")).body, got.body);
}

TEST(Create, SaysWhatIsThereAlready) {
  TestServer kube;
  kube.config_map("a");
  const Got got = kube.config_map("a");
  EXPECT_EQ(got.status, 409);
  EXPECT_EQ(got.text,
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":)"
            R"("configmaps \"a\" already exists","reason":"AlreadyExists","details":{"name":"a",)"
            R"("kind":"configmaps"},"code":409})");
}

TEST(Create, NeedsItsNamespace) {
  TestServer kube;
  const Got missing =
      kube.post("/api/v1/namespaces/nons/configmaps", R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.at("/message"), R"(namespaces "nons" not found)");
  EXPECT_EQ(missing.at("/details/kind"), "namespaces");

  kube.post("/api/v1/namespaces", R"({"metadata":{"name":"n1"}})");
  EXPECT_EQ(kube.get("/api/v1/namespaces/n1").at("/metadata/labels/kubernetes.io~1metadata.name"),
            "n1");
  const Got gone = kube.remove("/api/v1/namespaces/n1");
  EXPECT_EQ(gone.at("/status/phase"), "Terminating");
  const Got late = kube.post("/api/v1/namespaces/n1/configmaps", R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(late.status, 403);
  EXPECT_EQ(
      late.at("/message"),
      R"(configmaps "a" is forbidden: unable to create new content in namespace n1 because it )"
      "is being terminated");
  EXPECT_EQ(late.at("/details/causes/0/reason"), "NamespaceTerminating");
  kube.put("/api/v1/namespaces/n1/finalize", R"({"metadata":{"name":"n1"},"spec":{}})");
  EXPECT_EQ(kube.get("/api/v1/namespaces/n1").status, 404);
}

TEST(Create, TextsOfASecretBecomeItsData) {
  TestServer kube;
  const Got got = kube.post("/api/v1/namespaces/default/secrets",
                            R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},)"
                            R"("type":"kubernetes.io/tls","stringData":{"tls.crt":"abc",)"
                            R"("tls.key":"def"}})");
  EXPECT_EQ(got.at("/data/tls.crt"), "YWJj");
  EXPECT_EQ(got.at("/data/tls.key"), "ZGVm");
  EXPECT_EQ(got.at("/stringData"), "(none)");
}

TEST(Create, MakesNamesFromAPrefix) {
  TestServer kube;
  const Got first = kube.post(kConfigMaps, R"({"metadata":{"generateName":"x-"}})");
  const Got second = kube.post(kConfigMaps, R"({"metadata":{"generateName":"x-"}})");
  EXPECT_EQ(first.at("/metadata/name").size(), 7u);
  EXPECT_TRUE(first.at("/metadata/name").starts_with("x-"));
  EXPECT_NE(first.at("/metadata/name"), second.at("/metadata/name"));
  TestServer again;
  EXPECT_EQ(again.post(kConfigMaps, R"({"metadata":{"generateName":"x-"}})").at("/metadata/name"),
            first.at("/metadata/name"));
}

TEST(Create, RefusesBadNames) {
  TestServer kube;
  const Got none = kube.post(kConfigMaps, R"({"metadata":{}})");
  EXPECT_EQ(none.status, 422);
  EXPECT_EQ(none.at("/message"),
            R"(ConfigMap "" is invalid: metadata.name: Required value: name or generateName is )"
            "required");
  const Got upper = kube.post(kConfigMaps, R"({"metadata":{"name":"B_","labels":{"a b":"c d"}}})");
  EXPECT_EQ(upper.status, 422);
  EXPECT_EQ(wire::array_at(upper.body, "/details/causes")->size(), 3u);
  EXPECT_EQ(upper.at("/details/causes/0/field"), "metadata.name");
  EXPECT_EQ(
      kube.post("/api/v1/namespaces", R"({"metadata":{"name":"n.1"}})").at("/message"),
      R"(Namespace "n.1" is invalid: metadata.name: Invalid value: "n.1": must not contain dots)");
}

TEST(Create, RefusesWhatDoesNotFitTheUrl) {
  TestServer kube;
  EXPECT_EQ(
      kube.post(kConfigMaps, R"({"metadata":{"name":"a","namespace":"b"}})").at("/message"),
      "the namespace of the provided object does not match the namespace sent on the request");
  EXPECT_EQ(kube.post(kConfigMaps, R"({"kind":"Pod","metadata":{"name":"a"}})").status, 400);
  EXPECT_EQ(kube.post(kConfigMaps, "{bad").at("/reason"), "BadRequest");
  EXPECT_EQ(kube.post(kConfigMaps, R"({"metadata":{"name":"a","resourceVersion":"5"}})").status,
            500);
  EXPECT_EQ(kube.post(kConfigMaps, R"({"metadata":{"name":"a","labels":{"x":5}}})").at("/message"),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal "
            "number into Go struct field ObjectMeta.metadata.labels of type string");
}

TEST(Paths, AnswerAsTheRealServer) {
  TestServer kube;
  EXPECT_EQ(kube.get("/nothing").text, "404 page not found\n");
  EXPECT_EQ(kube.get("/apis/nope/v1/foos").text, "404 page not found\n");
  EXPECT_EQ(kube.get("/apis/apps/v1/foos").at("/message"),
            "the server could not find the requested resource");
  EXPECT_EQ(kube.get(path(kConfigMaps, "/x")).at("/message"), R"(configmaps "x" not found)");
  const Got deployment = kube.get("/apis/apps/v1/namespaces/default/deployments/x");
  EXPECT_EQ(deployment.at("/message"), R"(deployments.apps "x" not found)");
  EXPECT_EQ(deployment.at("/details/group"), "apps");
  EXPECT_EQ(kube.post(path(kConfigMaps, "/a"), "{}").status, 405);
  EXPECT_EQ(kube.get(path(kConfigMaps, "/a/status")).status, 404);
}

TEST(Discovery, ListsWhatIsServed) {
  TestServer kube;
  EXPECT_EQ(kube.get("/readyz").text, "ok");
  EXPECT_EQ(kube.get("/version").at("/minor"), "36");
  EXPECT_EQ(kube.get("/api").at("/versions"), R"(["v1"])");
  EXPECT_NE(kube.get("/apis").text.find("coordination.k8s.io/v1"), std::string::npos);
  EXPECT_NE(kube.get("/api/v1").text.find(R"("name":"pods/status")"), std::string::npos);
  EXPECT_EQ(kube.get("/apis/apps").at("/preferredVersion/version"), "v1");
}

TEST(Update, ChecksTheVersion) {
  TestServer kube;
  const Got made = kube.config_map("a");
  const std::string stale =
      fmt::format(R"({{"metadata":{{"name":"a","resourceVersion":"{}"}},"data":{{"k":"w"}}}})",
                  made.at("/metadata/resourceVersion"));
  EXPECT_EQ(kube.put(path(kConfigMaps, "/a"), stale).status, 200);
  const Got refused = kube.put(path(kConfigMaps, "/a"), stale);
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.at("/reason"), "Conflict");
  EXPECT_EQ(
      refused.at("/message"),
      R"(Operation cannot be fulfilled on configmaps "a": the object has been modified; please )"
      "apply your changes to the latest version and try again");
  EXPECT_EQ(
      kube.put(path(kConfigMaps, "/a"), R"({"metadata":{"name":"a"},"data":{"k":"x"}})").status,
      200);
  EXPECT_EQ(kube.put(path(kConfigMaps, "/a"), R"({"metadata":{"name":"b"}})").status, 400);
  EXPECT_EQ(kube.put(path(kConfigMaps, "/zz"), R"({"metadata":{"name":"zz"}})").status, 404);
  const Got other = kube.put(path(kConfigMaps, "/a"), R"({"metadata":{"name":"a","uid":"zz"}})");
  EXPECT_EQ(other.status, 409);
  EXPECT_NE(other.at("/message").find("UID in precondition: zz"), std::string::npos);
}

TEST(Update, NeedsAVersionWhereTheRealServerDoes) {
  TestServer kube;
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  EXPECT_EQ(kube.put(leases + "/l", R"({"metadata":{"name":"l"},"spec":{}})").status, 201);
  const Got refused =
      kube.put(leases + "/l", R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"x"}})");
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(
      refused.at("/message"),
      R"(leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: )"
      "must be specified for an update");
}

TEST(Update, WithoutAChangeWritesNothing) {
  TestServer kube;
  kube.config_map("a");
  const std::uint64_t before = kube.server.resource_version();
  EXPECT_EQ(kube.patch(path(kConfigMaps, "/a"), R"({"data":{"k":"v"}})").status, 200);
  EXPECT_EQ(
      kube.patch(path(kConfigMaps, "/a"), R"({"metadata":{"creationTimestamp":null}})").status,
      200);
  EXPECT_EQ(kube.server.resource_version(), before);
}

TEST(Patch, MergesAndTests) {
  TestServer kube;
  kube.config_map("a");
  const std::string url = path(kConfigMaps, "/a");
  EXPECT_EQ(kube.patch(url, R"({"data":{"x":"y","k":null}})").at("/data"), R"({"x":"y"})");
  const Got tested = kube.patch(url,
                                R"([{"op":"test","path":"/data/x","value":"z"},)"
                                R"({"op":"remove","path":"/data"}])",
                                kJsonPatch);
  EXPECT_EQ(tested.status, 422);
  EXPECT_EQ(
      tested.text,
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":)"
      R"("the server rejected our request due to an error in our request","reason":"Invalid",)"
      R"("details":{},"code":422})");
  EXPECT_EQ(kube.patch(url,
                       R"([{"op":"test","path":"/data/x","value":"y"},)"
                       R"({"op":"replace","path":"/data/x","value":"z"}])",
                       kJsonPatch)
                .at("/data/x"),
            "z");
  EXPECT_EQ(kube.patch(url, R"({"x")").status, 400);
  EXPECT_EQ(kube.patch(url, "{}", "text/plain").status, 415);
  EXPECT_EQ(kube.patch(url, R"({"metadata":{"resourceVersion":"1"}})").status, 409);
  EXPECT_EQ(kube.patch(url, R"({"metadata":{"name":"b"}})").status, 400);
  const Got uid = kube.patch(url, R"({"metadata":{"uid":"b"}})");
  EXPECT_EQ(uid.at("/message"),
            R"(ConfigMap "a" is invalid: metadata.uid: Invalid value: "b": field is immutable)");
}

TEST(Apply, CreatesThenMergesWhatOthersApply) {
  TestServer kube;
  const std::string url = path(kPods, "/p?fieldManager=me");
  const Got made =
      kube.patch(url,
                 "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n"
                 "  - {name: c, image: i}\n  - {name: d, image: j}\n",
                 kApplyPatch);
  EXPECT_EQ(made.status, 201);
  const Got changed = kube.patch(path(kPods, "/p?fieldManager=other&force=true"),
                                 "apiVersion: v1\nkind: Pod\nmetadata: {labels: {a: b}}\nspec:\n"
                                 "  containers:\n  - {name: d, image: k}\n",
                                 kApplyPatch);
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(changed.at("/spec/containers/0/image"), "i");
  EXPECT_EQ(changed.at("/spec/containers/1/image"), "k");
  EXPECT_EQ(changed.at("/metadata/labels/a"), "b");
  EXPECT_EQ(kube.patch(path(kPods, "/p"), "kind: Pod", kApplyPatch).status, 422);
}

TEST(Delete, HonoursPreconditions) {
  TestServer kube;
  kube.config_map("a");
  const std::string url = path(kConfigMaps, "/a");
  const Got uid = kube.remove(url, R"({"preconditions":{"uid":"nn"}})");
  EXPECT_EQ(uid.status, 409);
  EXPECT_TRUE(uid.at("/message")
                  .starts_with(R"(Operation cannot be fulfilled on ConfigMap "a": the UID in the )"
                               "precondition (nn)"));
  EXPECT_EQ(kube.remove(url, R"({"preconditions":{"resourceVersion":"1"}})").status, 409);
  const Got gone = kube.remove(url);
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(gone.at("/status"), "Success");
  EXPECT_EQ(gone.at("/details/kind"), "configmaps");
  EXPECT_EQ(kube.remove(url).status, 404);
}

TEST(Delete, WaitsForFinalizers) {
  TestServer kube;
  kube.post(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["x.y/z"]}})");
  const std::string url = path(kConfigMaps, "/a");
  const Got marked = kube.remove(url);
  EXPECT_EQ(marked.at("/metadata/deletionTimestamp"), "2026-01-02T03:04:05Z");
  EXPECT_EQ(marked.at("/metadata/deletionGracePeriodSeconds"), "0");
  const std::uint64_t version = kube.server.resource_version();
  EXPECT_EQ(kube.remove(url).status, 200);
  EXPECT_EQ(kube.server.resource_version(), version);
  const Got added = kube.patch(url, R"({"metadata":{"finalizers":["x.y/z","q.z/r"]}})");
  EXPECT_EQ(added.at("/message"),
            R"(ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be )"
            R"(added if the object is being deleted, found new finalizers []string{"q.z/r"})");
  EXPECT_EQ(kube.patch(url, R"({"metadata":{"finalizers":null}})").status, 200);
  EXPECT_EQ(kube.get(url).status, 404);
}

TEST(Delete, OfACollectionTakesWhatMatches) {
  TestServer kube;
  kube.config_map("a", R"({"x":"1"})");
  kube.config_map("b", R"({"x":"2"})");
  EXPECT_EQ(kube.call("DELETE", path(kConfigMaps, "?labelSelector=x%3D1")).status, 200);
  EXPECT_EQ(kube.get(path(kConfigMaps, "/a")).status, 404);
  EXPECT_EQ(kube.get(path(kConfigMaps, "/b")).status, 200);
}

TEST(DryRun, ChangesNothing) {
  TestServer kube;
  kube.config_map("a");
  const std::uint64_t version = kube.server.resource_version();
  EXPECT_EQ(kube.post(path(kConfigMaps, "?dryRun=All"), R"({"metadata":{"name":"b"}})").status,
            201);
  EXPECT_EQ(kube.patch(path(kConfigMaps, "/a?dryRun=All"), R"({"data":{"k":"z"}})").at("/data/k"),
            "z");
  EXPECT_EQ(kube.remove(path(kConfigMaps, "/a?dryRun=All")).status, 200);
  EXPECT_EQ(kube.server.resource_version(), version);
}

constexpr const char* kPod =
    R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i:v1",)"
    R"("ports":[{"containerPort":80}]}]}})";

TEST(Pods, GetDefaultsAndAreChecked) {
  TestServer kube;
  const Got pod = kube.post(kPods, kPod);
  EXPECT_EQ(pod.at("/spec/containers/0/ports/0/protocol"), "TCP");
  EXPECT_EQ(pod.at("/spec/containers/0/imagePullPolicy"), "IfNotPresent");
  EXPECT_EQ(pod.at("/spec/terminationGracePeriodSeconds"), "30");
  EXPECT_EQ(pod.at("/status/phase"), "Pending");
  EXPECT_EQ(pod.at("/metadata/generation"), "1");
  EXPECT_EQ(kube.post(kPods, R"({"metadata":{"name":"q"}})").at("/message"),
            R"(Pod "q" is invalid: spec.containers: Required value)");
  EXPECT_EQ(
      kube.post(kPods, R"({"metadata":{"name":"q"},"spec":{"containers":[{}]}})").at("/message"),
      R"(Pod "q" is invalid: [spec.containers[0].name: Required value, )"
      "spec.containers[0].image: Required value]");
  const Got moved = kube.patch(path(kPods, "/p"), R"({"spec":{"nodeName":"n"}})");
  EXPECT_EQ(moved.status, 422);
  EXPECT_TRUE(moved.at("/message")
                  .starts_with(R"(Pod "p" is invalid: spec: Forbidden: pod updates may not change )"
                               "fields other than"));
}

TEST(Pods, MustHaveObjectsWhereObjectsBelong) {
  TestServer kube;
  kube.post(kPods, kPod);
  EXPECT_EQ(
      kube.patch(path(kPods, "/p/status"), R"({"status":5})").at("/message"),
      "Pod in version \"v1\" cannot be handled as a Pod: json: cannot unmarshal number into Go "
      "struct field Pod.status of type v1.PodStatus");
  EXPECT_EQ(kube.put(path(kPods, "/p"), R"({"metadata":{"name":"p"},"spec":[]})").status, 400);
  EXPECT_EQ(kube.patch(path(kPods, "/p/status"), R"({"status":null})").status, 200);
  const std::string binding = R"({"metadata":{"name":"p"},"target":{"name":"n1"}})";
  EXPECT_EQ(kube.post(path(kPods, "/p/binding"), binding).status, 201);
}

TEST(Pods, TakeStatusAnnotationsAndNodeThroughSubresources) {
  TestServer kube;
  kube.post(kPods, kPod);
  const Got status = kube.patch(path(kPods, "/p/status"),
                                R"({"metadata":{"annotations":{"a":"b"}},"spec":{"nodeName":"zz"},)"
                                R"("status":{"phase":"Running"}})");
  EXPECT_EQ(status.at("/status/phase"), "Running");
  EXPECT_EQ(status.at("/metadata/annotations/a"), "b");
  EXPECT_EQ(status.at("/spec/nodeName"), "(none)");
  EXPECT_EQ(status.at("/metadata/generation"), "1");
  const Got main = kube.patch(path(kPods, "/p"), R"({"status":{"phase":"Failed"}})");
  EXPECT_EQ(main.at("/status/phase"), "Running");

  const std::string binding = R"({"metadata":{"name":"p"},"target":{"kind":"Node","name":"n1"}})";
  EXPECT_EQ(kube.post(path(kPods, "/p/binding"), binding).status, 201);
  EXPECT_EQ(kube.get(path(kPods, "/p")).at("/spec/nodeName"), "n1");
  EXPECT_EQ(kube.post(path(kPods, "/p/binding"), binding).status, 409);
}

TEST(Pods, AreGivenTimeToStopOnANode) {
  TestServer kube;
  kube.post(kPods, kPod);
  kube.post(path(kPods, "/p/binding"), R"({"metadata":{"name":"p"},"target":{"name":"n1"}})");
  const Got marked = kube.remove(path(kPods, "/p"));
  EXPECT_EQ(marked.at("/metadata/deletionTimestamp"), "2026-01-02T03:04:35Z");
  EXPECT_EQ(marked.at("/metadata/deletionGracePeriodSeconds"), "30");
  EXPECT_EQ(marked.at("/metadata/generation"), "2");
  EXPECT_EQ(kube.remove(path(kPods, "/p"), R"({"gracePeriodSeconds":5})")
                .at("/metadata/deletionGracePeriodSeconds"),
            "5");
  EXPECT_EQ(kube.remove(path(kPods, "/p"), R"({"gracePeriodSeconds":0})").status, 200);
  EXPECT_EQ(kube.get(path(kPods, "/p")).status, 404);
}

TEST(Access, IsByTokenCertificateAndHook) {
  ServerOptions options;
  options.access.tokens = {{"good", {"ann", {}}}, {"root", {"admin", {"system:masters"}}}};
  options.access.allow_anonymous = false;
  options.access.authorizer = [](const User& user, const RequestInfo&) {
    return user.name == "bob";
  };
  TestServer kube(std::move(options));
  EXPECT_EQ(kube.get(kPods).status, 401);
  const auto as = [&kube](std::string token) {
    return kube.call("GET", std::string(kPods), {}, "application/json",
                     {{"Authorization", "Bearer " + token}});
  };
  EXPECT_EQ(as("bad").at("/reason"), "Unauthorized");
  EXPECT_EQ(as("root").status, 200);
  const Got refused = as("good");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.at("/message"),
            R"(pods is forbidden: User "ann" cannot list resource "pods" in API group "" in the )"
            R"(namespace "default")");
  kube.peer.certificate_common_name = "bob";
  EXPECT_EQ(kube.get(kPods).status, 200);
}

TEST(Faults, AreTakenOnceEach) {
  TestServer kube;
  kube.server.faults().refuse_next({"create", "configmaps"}, too_many_requests(3), 2);
  EXPECT_EQ(kube.get(kConfigMaps).status, 200);
  EXPECT_EQ(kube.config_map("a").status, 429);
  EXPECT_EQ(kube.config_map("a").at("/details/retryAfterSeconds"), "3");
  EXPECT_EQ(kube.config_map("a").status, 201);
  kube.server.faults().delay_next({}, std::chrono::seconds{2});
  EXPECT_EQ(kube.get(kConfigMaps).delay, std::chrono::seconds{2});
  EXPECT_EQ(kube.get(kConfigMaps).delay, Duration{});
}

}  // namespace
}  // namespace berth::sim::kube
