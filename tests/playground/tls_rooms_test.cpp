// Rooms behind TLS that ends at our own load balancer: the pool's item names a Secret, players
// check the certificate in it, and rooms hear plain TCP.

#include <gmock/gmock.h>

#include "base/encoding.h"
#include "crypto/certificates.h"
#include "edge/haproxy/runner.h"
#include "support/tls_client.h"
#include "world.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// An authority of the tests, and certificates that it signed.
class Authority {
 public:
  Authority()
      : own_(crypto::make_authority({.common_name = "ca", .not_before = start(), .lifetime = 24h})
                 .value()) {}

  const std::string& pem() const { return own_.certificate_pem; }
  std::string secret(const std::string& name, const std::string& host) const {
    const crypto::KeyPair pair = issue(host);
    return fmt::format(R"(
apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata: {{name: {}, namespace: games}}
data: {{tls.crt: {}, tls.key: {}}}
)",
                       name, base64_encode(pair.certificate_pem),
                       base64_encode(pair.key_pem.reveal()));
  }

 private:
  static WallTime start() { return std::chrono::system_clock::now() - 1h; }
  crypto::KeyPair issue(const std::string& host) const {
    return crypto::issue_certificate(
               own_,
               {.common_name = host, .dns_names = {host}, .not_before = start(), .lifetime = 12h})
        .value();
  }

  const crypto::KeyPair own_;
};

const std::string kRoom = R"(
apiVersion: v1
kind: Pod
metadata:
  name: room-0
  namespace: games
  annotations:
    portpools.networkextension.bkbcs.tencent.com: "true"
    ports.portpools.networkextension.bkbcs.tencent.com: "rooms TCP_SSL 8000"
spec: {containers: [{name: room, image: "room:1", ports: [{containerPort: 8000}]}]}
)";

class TlsRooms : public World {
 protected:
  void SetUp() override {
    if (edge::haproxy::find_program().empty()) GTEST_SKIP() << "haproxy is not installed";
    World::SetUp();
    make_namespace("games");
  }
  void make_pool() {
    create(pool_yaml("games", "rooms",
                     "{poolItems: [{itemName: tls, loadBalancerIDs: [lb-1], protocol: TCP_SSL, "
                     "startPort: 31000, endPort: 31003, certificate: {certID: front}}]}"));
  }
  std::string item_message() {
    return std::string(wire::string_at(get(api::port_pool_kind().type, "games", "rooms"),
                                       "/status/poolItems/0/message"));
  }
  // What a player hears who expects this host there.
  std::string ask(const playground::Room& room, const std::string& host) {
    const model::Target& at = room.ports.front().open_at;
    const auto heard = testing::ask_over_tls({.ip = at.ip,
                                              .port = at.port,
                                              .server_name = host,
                                              .authority_pem = authority_.pem(),
                                              .text = "ahoy\n"});
    return heard ? *heard : heard.error().to_string();
  }

  const Authority authority_;
};

TEST_F(TlsRooms, ARoomIsReachedThroughTheCertificateOfItsPool) {
  create(authority_.secret("front", "rooms.example.com"));
  make_pool();
  ASSERT_TRUE(pool_is_ready("games", "rooms")) << item_message();
  create(kRoom);
  const auto room = play_->wait_for_room(context_.within(60s), "games/room-0");
  ASSERT_TRUE(room) << room.error().to_string();
  EXPECT_EQ(room->ports.front().protocol, "TCP_SSL");
  EXPECT_EQ(ask(*room, "rooms.example.com"), "this is games/room-0\nahoy\n");
  EXPECT_THAT(ask(*room, "other.example.com"), HasSubstr("hostname mismatch"));

  const wire::Value listener = get(api::listener_kind().type, "games",
                                   fmt::format("lb-1-tcpssl-{}", room->ports.front().open_at.port));
  EXPECT_EQ(wire::string_at(listener, "/spec/protocol"), "TCP_SSL");
  EXPECT_EQ(wire::string_at(listener, "/spec/certificate/certID"), "front");
  const wire::Value pod = get(kube::types::kPod, "games", "room-0");
  EXPECT_EQ(wire::string_at(pod, "/spec/containers/0/env/0/name"),
            "BCS_PORTPOOL_PORT_VIPLIST_TCP_SSL_8000");

  // Another certificate is another Secret: the room stays where it is.
  create(authority_.secret("front-2027", "play.example.com"));
  merge(api::port_pool_kind().type, {"games", "rooms"},
        R"({"spec": {"poolItems": [{"itemName": "tls", "loadBalancerIDs": ["lb-1"],
            "protocol": "TCP_SSL", "startPort": 31000, "endPort": 31003,
            "certificate": {"certID": "front-2027"}}]}})");
  EXPECT_TRUE(eventually([&] {
    return ask(*room, "play.example.com") == "this is games/room-0\nahoy\n";
  })) << ask(*room, "play.example.com");
  const auto after = play_->wait_for_room(context_.within(60s), "games/room-0");
  ASSERT_TRUE(after) << after.error().to_string();
  EXPECT_EQ(after->address, room->address);
}

TEST_F(TlsRooms, APoolWithoutItsCertificateSaysWhatIsMissing) {
  make_pool();
  ASSERT_TRUE(eventually([&] { return item_message().find("Secret") != std::string::npos; }))
      << item_message();
  EXPECT_THAT(
      item_message(),
      AllOf(HasSubstr("0 of 3 listeners are ready; Listener lb-1-tcpssl-31000: "),
            HasSubstr("Secret games/front"), HasSubstr("kubectl create secret tls front -n games"),
            HasSubstr("(and 2 more)")));
  const std::string told(
      wire::string_at(get(api::listener_kind().type, "games", "lb-1-tcpssl-31000"), "/status/msg"));
  EXPECT_THAT(told, HasSubstr("Secret games/front"));
  EXPECT_THAT(refused(kRoom), HasSubstr("no free TCP_SSL port"));
  create(authority_.secret("front", "rooms.example.com"));
  EXPECT_TRUE(pool_is_ready("games", "rooms")) << item_message();
}

}  // namespace
}  // namespace berth
