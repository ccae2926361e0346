// Clients in Go that are not kubectl: bodies in protobuf, and tokens of service accounts.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/kube/protobuf_body.h"
#include "sim/kube/test_client.h"

namespace berth::sim::kube {
namespace {

using wire::Value;

constexpr std::string_view kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::string number(int field, std::uint64_t value) {
  std::string out;
  append_varint(out, static_cast<std::uint64_t>(field) << 3);
  append_varint(out, value);
  return out;
}

// A field of protobuf with bytes in it.
std::string field(int number, std::string_view bytes) {
  std::string out;
  append_varint(out, static_cast<std::uint64_t>(number) << 3 | 2);
  append_varint(out, bytes.size());
  return out.append(bytes);
}

std::string envelope(std::string_view version, std::string_view kind, std::string_view raw) {
  return std::string("k8s\0", 4) + field(1, field(1, version) + field(2, kind)) + field(2, raw);
}

std::string decoded(std::string_view body) {
  Outcome<Value> value = decode_protobuf(body);
  return value ? wire::to_json(*value) : "(" + value.error().message + ")";
}

TEST(ProtobufBodyTest, ReadsWhatKubectlSends) {
  // metadata {name, generation 0}, data {a: b, "": ""}, immutable false (a pointer).
  const std::string map = field(2, field(1, "a") + field(2, "b")) + field(2, "");
  const std::string config = field(1, field(1, "x") + "\x38" + '\0') + map + "\x20" + '\0';
  EXPECT_EQ(decoded(envelope("v1", "ConfigMap", config)),
            R"({"metadata":{"name":"x"},"data":{"a":"b","":""},"immutable":false,)"
            R"("apiVersion":"v1","kind":"ConfigMap"})");
}

TEST(ProtobufBodyTest, TakesIntegersOrTextAndNegativeNumbers) {
  // ports: {port 80, targetPort "http"}, then {targetPort -1 as an integer}.
  const std::string text = "\x18\x50" + field(4, "\x08\x01" + field(3, "http"));
  const std::string negative = field(4, std::string("\x10") + std::string(9, '\xff') + "\x01");
  EXPECT_EQ(decoded(envelope("v1", "Service", field(2, field(1, text) + field(1, negative)))),
            R"({"spec":{"ports":[{"port":80,"targetPort":"http"},{"targetPort":-1}]},)"
            R"("apiVersion":"v1","kind":"Service"})");
}

TEST(ProtobufBodyTest, RefusesWhatItCannotKeep) {
  EXPECT_EQ(decoded("{}"), "(the protobuf body is malformed: it does not start with its magic)");
  EXPECT_EQ(decoded(envelope("v1", "ConfigMap", field(15, "x"))),
            "(protobuf field 15 of core.ConfigMap is not known to this server; send JSON)");
  EXPECT_EQ(decoded(envelope("ex.dev/v1", "Room", "")),
            "(ex.dev/v1 Room is not known to this server as protobuf; send JSON)");
  EXPECT_EQ(decoded(envelope("v1", "ConfigMap", "\x0a\x7f")),
            "(the protobuf body is malformed: core.ConfigMap)");
  // What is unknown and zero was only written because Go writes zeros.
  EXPECT_EQ(decoded(envelope("v1", "ConfigMap", field(15, ""))),
            R"({"apiVersion":"v1","kind":"ConfigMap"})");
}

TEST(ProtobufBodyTest, TextIsUtf8) {
  const std::string map = field(2, field(1, "a\xb1") + field(2, "b\xb1"));
  EXPECT_EQ(decoded(envelope("v1", "ConfigMap", map)),
            "{\"data\":{\"a\xef\xbf\xbd\":\"b\xef\xbf\xbd\"},"
            "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}");
  EXPECT_EQ(decoded(envelope("apps.k8\xb1/v1", "ReplicaSet", "")),
            "{\"apiVersion\":\"apps.k8\xef\xbf\xbd/v1\",\"kind\":\"ReplicaSet\"}");
}

TEST(ProtobufBodyTest, TimesPastOursAreHeld) {
  const std::string late = field(4, number(1, ~0ull >> 1) + number(2, 0x7fffffff));
  EXPECT_EQ(decoded(envelope("coordination.k8s.io/v1", "Lease", field(2, late))),
            R"({"spec":{"renewTime":"2262-04-11T23:47:15.147483Z"},)"
            R"("apiVersion":"coordination.k8s.io/v1","kind":"Lease"})");
}

TEST(ProtobufBodyTest, AnythingElseIsRefusedInOrder) {
  const std::string good = envelope("v1", "ConfigMap", field(1, field(1, "x")));
  for (std::size_t size = 0; size < good.size(); ++size) {
    (void)decode_protobuf(std::string_view(good).substr(0, size));
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      (void)decode_protobuf(bad);
    }
  }
}

// What leader election in Go does every two seconds: it sends the Lease back as it got it, with
// another time.
TEST(GoClientsTest, ALeaseWithOwnersIsRenewedInProtobuf) {
  TestServer api;
  const Got made = api.post(kLeases, R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"me"}})");
  ASSERT_EQ(made.status, 201) << made.text;
  const std::string time = field(4, number(1, 1767323045));
  const std::string owner = field(1, "unknown") + field(2, "Update") +
                            field(3, "coordination.k8s.io/v1") + time + field(6, "FieldsV1") +
                            field(7, field(1, R"({"f:spec":{"f:holderIdentity":{}}})")) +
                            field(8, "");
  const std::string metadata = field(1, "l") + field(3, "default") +
                               field(6, made.at("/metadata/resourceVersion")) + field(17, owner);
  const std::string spec =
      field(1, "me") + number(2, 15) + field(4, number(1, 1767323047)) + number(5, 0);
  const std::string body =
      envelope("coordination.k8s.io/v1", "Lease", field(1, metadata) + field(2, spec));
  const Got renewed = api.call("PUT", path(kLeases, "/l"), body, kProtobuf);
  ASSERT_EQ(renewed.status, 200) << renewed.text;
  EXPECT_EQ(renewed.at("/spec"),
            R"({"holderIdentity":"me","leaseDurationSeconds":15,)"
            R"("renewTime":"2026-01-02T03:04:07.000000Z","leaseTransitions":0})");
  EXPECT_EQ(renewed.at("/metadata/managedFields/0/fieldsV1/f:spec"),
            R"({"f:holderIdentity":{},"f:leaseDurationSeconds":{},"f:leaseTransitions":{},)"
            R"("f:renewTime":{}})");
  EXPECT_EQ(api.call("PUT", path(kLeases, "/l"), body, kProtobuf).status, 409);
}

TEST(GoClientsTest, FieldsThatAreNoJsonChangeNoOwner) {
  TestServer api;
  const Got made = api.config_map("a");
  const std::string owner = field(1, "x") + field(2, "Update") + field(3, "v1") +
                            field(6, "FieldsV1") + field(7, field(1, "{"));
  const std::string data = field(2, field(1, "k") + field(2, "v"));
  const Got sent = api.call(
      "PUT", path(kConfigMaps, "/a"),
      envelope("v1", "ConfigMap", field(1, field(1, "a") + field(17, owner)) + data), kProtobuf);
  EXPECT_EQ(sent.status, 200) << sent.text;
  EXPECT_EQ(sent.at("/metadata/managedFields"), made.at("/metadata/managedFields"));
}

TEST(GoClientsTest, AStatusKeepsTheZerosThatGoWrites) {
  // replicas 0 is written always; readyReplicas 0 is left out.
  const std::string status = number(1, 0) + number(3, 2) + number(4, 0);
  EXPECT_EQ(decoded(envelope("apps/v1", "ReplicaSet", field(3, status))),
            R"({"status":{"replicas":0,"observedGeneration":2},)"
            R"("apiVersion":"apps/v1","kind":"ReplicaSet"})");
}

TEST(GoClientsTest, DeletionsAndBindingsComeInProtobuf) {
  TestServer api;
  const Got pod = api.post(
      kPods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  ASSERT_EQ(pod.status, 201) << pod.text;
  const std::string target = field(1, "Node") + field(3, "n");
  const Got bound =
      api.call("POST", path(kPods, "/p/binding"),
               envelope("v1", "Binding", field(1, field(1, "p")) + field(2, target)), kProtobuf);
  EXPECT_EQ(bound.status, 201) << bound.text;
  EXPECT_EQ(api.get(path(kPods, "/p")).at("/spec/nodeName"), "n");

  const auto remove = [&](std::string_view uid) {
    const std::string options = number(1, 0) + field(2, field(1, uid));
    return api.call("DELETE", path(kPods, "/p"), envelope("v1", "DeleteOptions", options),
                    kProtobuf);
  };
  EXPECT_EQ(remove("another").status, 409);
  const Got removed = remove(pod.at("/metadata/uid"));
  EXPECT_EQ(removed.status, 200) << removed.text;
  EXPECT_EQ(api.get(path(kPods, "/p")).status, 404);
}

constexpr std::string_view kAccounts = "/api/v1/namespaces/default/serviceaccounts";

class AccountTokensTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(api.post(kAccounts, R"({"metadata":{"name":"a"}})").status, 201);
  }
  Got ask(std::string_view spec) {
    return api.post(path(kAccounts, "/a/token"), fmt::format(R"({{"spec":{}}})", spec));
  }
  // Whom the server takes the bearer for; empty: nobody.
  std::string bearer(const std::string& token) {
    const Got who = api.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}",
                             "application/json", {{"Authorization", "Bearer " + token}});
    return who.status == 401 ? "" : who.at("/status/userInfo/username");
  }

  TestServer api{{.token_key = "k"}};
};

TEST_F(AccountTokensTest, ABearerIsTheAccountUntilTheTokenIsOver) {
  const Got made = ask(R"({"expirationSeconds":600})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.at("/status/expirationTimestamp"), "2026-01-02T03:14:05Z");
  const std::string token = made.at("/status/token");
  const Got who = api.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}",
                           "application/json", {{"Authorization", "Bearer " + token}});
  EXPECT_EQ(who.at("/status/userInfo/username"), "system:serviceaccount:default:a");
  EXPECT_EQ(
      who.at("/status/userInfo/groups"),
      R"(["system:serviceaccounts","system:serviceaccounts:default","system:authenticated"])");
  EXPECT_EQ(who.at("/status/userInfo/uid"), api.get(path(kAccounts, "/a")).at("/metadata/uid"));
  api.now += std::chrono::seconds{599};
  EXPECT_NE(bearer(token), "");
  api.now += std::chrono::seconds{1};
  EXPECT_EQ(bearer(token), "");
}

TEST_F(AccountTokensTest, DiscoveryHasThem) {
  const Got core = api.get("/api/v1");
  const wire::Array* resources = wire::array_at(core.body, "/resources");
  ASSERT_NE(resources, nullptr) << core.text;
  const Value token = wire::Object{{"name", "serviceaccounts/token"},
                                   {"singularName", ""},
                                   {"namespaced", true},
                                   {"kind", "TokenRequest"},
                                   {"verbs", wire::Array{"create"}},
                                   {"group", "authentication.k8s.io"},
                                   {"version", "v1"}};
  EXPECT_NE(std::ranges::find(*resources, token), resources->end()) << core.text;
}

TEST_F(AccountTokensTest, NobodyElseIsTakenForIt) {
  const std::string token = ask("{}").at("/status/token");
  ASSERT_NE(bearer(token), "");
  for (std::size_t at = 0; at < token.size(); ++at) {
    std::string forged = token;
    forged[at] = forged[at] == 'A' ? 'B' : 'A';
    // The last letter of a signature has bits to spare, but its text must be the same.
    EXPECT_EQ(bearer(forged), "") << at;
    EXPECT_EQ(bearer(token.substr(0, at)), "") << at;
  }
  EXPECT_EQ(bearer(ask(R"({"audiences":["vault"]})").at("/status/token")), "");
  TestServer other{{.token_key = "l"}};
  EXPECT_EQ(other.call("GET", "/version", {}, {}, {{"Authorization", "Bearer " + token}}).status,
            401);
}

TEST_F(AccountTokensTest, ATokenEndsWithItsAccountOrWhatItIsBoundTo) {
  ASSERT_EQ(api.post(kPods, R"({"metadata":{"name":"p"},"spec":{"serviceAccountName":"a",
      "containers":[{"name":"c","image":"i"}]}})")
                .status,
            201);
  const std::string free = ask("{}").at("/status/token");
  EXPECT_EQ(ask(R"({"boundObjectRef":"p"})").status, 400) << "never bound to nothing instead";
  const std::string bound =
      ask(R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}})").at("/status/token");
  EXPECT_NE(bearer(bound), "");
  api.remove(path(kPods, "/p"));
  EXPECT_EQ(bearer(bound), "");
  EXPECT_NE(bearer(free), "");
  api.remove(path(kAccounts, "/a"));
  EXPECT_EQ(bearer(free), "");
  ASSERT_EQ(api.post(kAccounts, R"({"metadata":{"name":"a"}})").status, 201);
  EXPECT_EQ(bearer(free), "") << "another account of that name";
}

}  // namespace
}  // namespace berth::sim::kube
