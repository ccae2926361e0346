// Wrong pools and wrong annotations: each refusal names the object, the field, what was found and
// what is allowed, and leaves nothing behind.

#include <gmock/gmock.h>

#include "api/load_balancer.h"
#include "world.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

class Refusals : public World {
 protected:
  void SetUp() override {
    World::SetUp();
    make_namespace("games");
    create(pool_yaml("games", "rooms", R"({poolItems: [
        {itemName: item1, loadBalancerIDs: [lb-1], startPort: 31000, endPort: 31003},
        {itemName: tcponly, loadBalancerIDs: [lb-1], protocol: TCP, startPort: 32000,
         endPort: 32001}]})"));
    ASSERT_TRUE(pool_is_ready("games", "rooms"));
  }

  static std::string pool(const std::string& spec) { return pool_yaml("games", "wrong", spec); }
  static std::string pod(const std::string& ports, const std::string& keep = "0s") {
    return fmt::format(R"(
apiVersion: v1
kind: Pod
metadata:
  name: wrong
  namespace: games
  annotations:
    portpools.networkextension.bkbcs.tencent.com: "true"
    ports.portpools.networkextension.bkbcs.tencent.com: "{}"
    keepduration.portbinding.bkbcs.tencent.com: "{}"
spec:
  containers:
  - name: a
    image: i
    ports: [{{containerPort: 8000, name: game}}, {{containerPort: 8002, protocol: SCTP}}]
)",
                       ports, keep);
  }

  std::size_t claimed() {
    std::size_t count = 0;
    for (const wire::Value& listener : list(api::listener_kind().type, "games")) {
      if (!wire::string_at(listener, "/metadata/annotations/berth.dev~1claim").empty()) ++count;
    }
    return count;
  }
};

TEST_F(Refusals, OfPoolsSayWhatIsWrongAndLeaveNothingBehind) {
  const std::string object = "PortPool games/wrong: ";
  const auto item = [](const std::string& fields) {
    return "{poolItems: [{itemName: a, " + fields + "}]}";
  };
  const std::string ids = "loadBalancerIDs: [lb-9], ";
  const std::string ports = ", startPort: 100, endPort: 110";
  const std::vector<std::pair<std::string, std::vector<std::string>>> wrong{
      {item(ids + "startPort: 0, endPort: 9"), {"spec.poolItems[0].startPort", "0", "equal to 1"}},
      {item(ids + "startPort: 1, endPort: 70000"), {"endPort", "70000", "equal to 65535"}},
      {item(ids + "startPort: 200, endPort: 100"),
       {object, "spec.poolItems[0].endPort", "100 is not above startPort 200"}},
      {item(ids + "startPort: 100, endPort: 5000"), {object, "4900", "at most 4000"}},
      {item(ids + "segmentLength: 11" + ports),
       {object, "spec.poolItems[0].segmentLength", "11 is more than the 10 ports"}},
      {item(ids + "protocol: TCP_SSL" + ports),
       {object, "spec.poolItems[0].certificate.certID", "is required with protocol TCP_SSL"}},
      {item(ids + "protocol: HTTP" + ports), {object, "'HTTP' is not one of TCP, UDP"}},
      {item(ids + "protocol: TCP_UDP" + ports), {object, "'TCP_UDP'", "write TCP,UDP"}},
      {item(ids + "uptimeCheck: soon" + ports), {"uptimeCheck", "must be of type object"}},
      {item("loadBalancerIDs: []" + ports), {"loadBalancerIDs", "at least 1 items"}},
      {item("startPort: 100, endPort: 110"), {object, "loadBalancerIDs", "for example [\"lb-1\"]"}},
      {item("loadBalancerIDs: ['']" + ports), {object, "loadBalancerIDs[0]", "is empty", "edge:"}},
      {item("loadBalancerIDs: ['a:b:lb-1']" + ports), {object, "'a:b:lb-1' is not region:id"}},
      {item("loadBalancerIDs: ['azure:lb-1']" + ports),
       {object, "'azure:lb-1' begins with a provider"}},
      {item("loadBalancerIDs: ['lb-1,lb-2']" + ports), {object, "blanks or separators"}},
      {item("loadBalancerIDs: [lb-9, 'edge:lb-9']" + ports),
       {object, "'edge:lb-9' is named twice"}},
      {"{}", {"spec.poolItems", "Required"}},
      {"{poolItems: [{itemName: a, loadBalancerIDs: [lb-9], startPort: 1, endPort: 9}, "
       "{itemName: a, loadBalancerIDs: [lb-8], startPort: 1, endPort: 9}]}",
       {"spec.poolItems[1]", "Duplicate value", "\"a\""}},
      {"{poolItems: [{itemName: a, loadBalancerIDs: [lb-9], startPort: 1, endPort: 9}, "
       "{itemName: b, loadBalancerIDs: [lb-9], startPort: 5, endPort: 12}]}",
       {object, "spec.poolItems[1].startPort", "TCP ports 5-11 overlap those of item 'a' (1-8)"}},
      {"{listenerAttribute: {sessionType: X}, poolItems: [{itemName: a, " + ids +
           "startPort: 1, "
           "endPort: 9}]}",
       {"sessionType", "\"X\"", "\"NORMAL\", \"QUIC_CID\""}},
  };
  const std::size_t before = list(api::listener_kind().type, "games").size();
  for (const auto& [spec, message] : wrong) {
    const std::string said = refused(pool(spec));
    EXPECT_FALSE(said.empty()) << spec;
    for (const std::string& part : message) EXPECT_THAT(said, HasSubstr(part)) << spec;
  }
  EXPECT_EQ(list(api::port_pool_kind().type, "games").size(), 1u);
  EXPECT_EQ(list(api::listener_kind().type, "games").size(), before);
  EXPECT_EQ(list(api::load_balancer_kind().type).size(), 1u);
}

TEST_F(Refusals, OfPodsSayWhatIsWrongAndTakeNoPort) {
  const std::string field =
      "Pod games/wrong: metadata.annotations[ports.portpools.networkextension.bkbcs.tencent.com]: ";
  const std::vector<std::pair<std::string, std::vector<std::string>>> wrong{
      {"nowhere TCP 8000", {field + "there is no PortPool games/nowhere", "NAME.NAMESPACE"}},
      {"rooms.nowhere TCP 8000", {field + "there is no PortPool nowhere/rooms"}},
      {"rooms/item9 TCP 8000",
       {field + "PortPool games/rooms has no item 'item9'; its items are: item1 (TCP, UDP), "
                "tcponly (TCP)"}},
      {"rooms/tcponly UDP 8000", {field + "PortPool games/rooms has no item 'tcponly' for UDP"}},
      {"rooms/tcponly TCP_UDP 8000", {field, "has no item 'tcponly' for TCP_UDP"}},
      {"rooms HTTP 8000", {field, "'HTTP' is not one of TCP, UDP, TCP_UDP"}},
      {"rooms TCP_SSL 8000", {field, "PortPool games/rooms has no item for TCP_SSL"}},
      {"rooms TCP 9999", {field, "no container declares port 9999; declared are: 8000 (game)"}},
      {"rooms TCP nope", {field, "no container declares port nope"}},
      {"rooms 8002", {field, "port 8002 is declared for SCTP", "name TCP or UDP"}},
      {"rooms TCP 0", {field, "port '0' is neither 1-65535"}},
      {"rooms TCP 70000", {field, "port '70000' is neither 1-65535"}},
      {"rooms TCP 8000/hostport", {field, "has no hostPort, and /hostport asks for it"}},
      {"rooms", {field, "has 1 words, not 2 or 3", "rooms TCP 8000"}},
      {"rooms TCP 8000 8001", {field, "has 4 words"}},
      {"rooms.games.svc TCP 8000", {field, "more than one '.'"}},
      {"", {field, "asks for no port"}},
      // All or none: the first line alone would have been possible.
      {"rooms TCP 8000;rooms/item9 TCP 8000", {field, "has no item 'item9'"}},
  };
  for (const auto& [ports, message] : wrong) {
    const std::string said = refused(pod(ports));
    EXPECT_FALSE(said.empty()) << ports;
    for (const std::string& part : message) EXPECT_THAT(said, HasSubstr(part)) << ports;
  }
  for (const std::string keep : {"5 minutes", "-5m", "300", "1d"}) {
    EXPECT_THAT(refused(pod("rooms TCP 8000", keep)),
                HasSubstr("Pod games/wrong: metadata.annotations[keepduration.portbinding.bkbcs."
                          "tencent.com]: '" +
                          keep + "' is "))
        << keep;
  }
  EXPECT_TRUE(list(kube::types::kPod, "games").empty());
  EXPECT_TRUE(eventually([&] { return claimed() == 0; }));
}

}  // namespace
}  // namespace berth
