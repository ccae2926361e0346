// Sites with certificates through a real HAProxy, asked by curl.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "edge/test_sites.h"

namespace berth::edge {
namespace {

using ::testing::HasSubstr;
using namespace testing;

class SiteTlsTest : public ::testing::Test {
 protected:
  void SetUp() override { BERTH_NEEDS_HAPROXY(); }
  ~SiteTlsTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string file(const std::string& name, const std::string& content) {
    const std::string path = folder_ + "/" + name;
    write_file(path, content, 0600).value();
    return path;
  }
  // Trusts the authority of the tests alone. What it said, or "curl 60" and the like.
  std::string ask(const Edge::Door& door, const std::string& name,
                  std::vector<std::string> more = {}) {
    Command curl{.program = "curl",
                 .args = {"-sS", "--max-time", "20", "--cacert",
                          file("ca.pem", edge_.certificates->authority_pem()), "--resolve",
                          fmt::format("{}:{}:{}", name, door.at.port, door.at.ip),
                          fmt::format("https://{}:{}/", name, door.at.port)}};
    curl.args.insert(curl.args.end(), more.begin(), more.end());
    const CommandResult result = run_command(edge_.context, curl).value();
    if (result.exit_code != 0) return fmt::format("curl {}", result.exit_code);
    return result.out.substr(0, result.out.find('\n'));
  }

  SiteEdge edge_;
  const std::string folder_ = [] {
    std::string path = "/tmp/berth-site-tls-XXXXXX";
    return std::string(::mkdtemp(path.data()));
  }();
};

// What curl says of a certificate that is not of the name.
constexpr const char* kWrongName = "curl 60";

TEST_F(SiteTlsTest, EachNameIsShownItsOwnCertificate) {
  const Edge::Door door =
      edge_.open_site(model::Protocol::https, {.by_server_name = true, .tls = tls_named("c")});
  edge_.put(door.id, "a.example.com", "/", {{edge_.room("room a")}}, {.tls = tls_named("a")})
      .value();
  edge_.put(door.id, "b.example.com", "/", {{edge_.room("room b")}}, {.tls = tls_named("b")})
      .value();
  edge_.put(door.id, "c.example.com", "/", {{edge_.room("room c")}}).value();
  EXPECT_EQ(ask(door, "a.example.com"), "room a");
  EXPECT_EQ(ask(door, "b.example.com"), "room b");
  EXPECT_EQ(ask(door, "c.example.com"), "room c") << "the default";
  EXPECT_EQ(ask(door, "d.example.com"), kWrongName);
}

TEST_F(SiteTlsTest, ACertificateThatIsRenewedIsShownAfterTheNextAudit) {
  const Edge::Door door = edge_.open_site(model::Protocol::https, {.tls = tls_named("a")});
  edge_.put(door.id, "b.example.com", "/", {{edge_.room("room")}}).value();
  EXPECT_EQ(ask(door, "b.example.com"), kWrongName);
  const crypto::KeyPair fresh = edge_.certificates->issue("b.example.com");
  edge_.certificates->set("play/a", lb::CertificateBytes{fresh.certificate_pem, fresh.key_pem});
  (void)edge_.driver->list(edge_.context, edge_.lb);
  EXPECT_TRUE(eventually([&] { return ask(door, "b.example.com") == "room"; }));
}

TEST_F(SiteTlsTest, WhoMustShowACertificateAndDoesNotIsTurnedAway) {
  model::Tls tls = tls_named("a");
  tls.client_ca = model::Certificate{.reference = "play/ca"};
  const Edge::Door door = edge_.open_site(model::Protocol::https, {.tls = tls});
  edge_.put(door.id, "a.example.com", "/", {{edge_.room("room")}}).value();
  EXPECT_THAT(ask(door, "a.example.com"), HasSubstr("curl "));
  const crypto::KeyPair guest = edge_.certificates->issue("guest", true);
  EXPECT_EQ(ask(door, "a.example.com",
                {"--cert", file("guest.pem", guest.certificate_pem), "--key",
                 file("guest.key", guest.key_pem.reveal())}),
            "room");
  const TestCertificates others;
  const crypto::KeyPair stranger = others.issue("guest", true);
  EXPECT_THAT(ask(door, "a.example.com",
                  {"--cert", file("stranger.pem", stranger.certificate_pem), "--key",
                   file("stranger.key", stranger.key_pem.reveal())}),
              HasSubstr("curl "));
}

TEST_F(SiteTlsTest, ABadCertificateConcernsItsListenerAlone) {
  const Edge::Door good = edge_.open_site(model::Protocol::https, {.tls = tls_named("a")});
  edge_.put(good.id, "a.example.com", "/", {{edge_.room("room")}}).value();
  const crypto::KeyPair one = edge_.certificates->issue("x.example.com");
  const crypto::KeyPair other = edge_.certificates->issue("x.example.com");
  edge_.certificates->set("play/mixed", lb::CertificateBytes{one.certificate_pem, other.key_pem});
  edge_.certificates->set("play/noise", lb::CertificateBytes{"noise", Secret("noise")});
  edge_.certificates->set("play/gone", fail(Code::not_found, "there is no Secret play/gone"));
  for (const char* name : {"mixed", "noise", "gone"}) {
    const model::Port port = Edge::fresh_port();
    const model::ListenerSpec spec{.protocol = model::Protocol::https,
                                   .ports = {port, port},
                                   .name = name,
                                   .attributes = {.tls = tls_named(name)}};
    const auto made = edge_.driver->create(edge_.context, edge_.lb, {&spec, 1}).front();
    ASSERT_FALSE(made) << name;
    EXPECT_THAT(made.error().to_string(), HasSubstr(name));
  }
  EXPECT_EQ(ask(good, "a.example.com"), "room");
}

// Another HAProxy takes HTTP/2 without TLS, as servers of gRPC do; a room takes HTTP/1.1 alone.
TEST_F(SiteTlsTest, TargetsOfGrpcAreSpokenToInHttp2) {
  SiteEdge behind;
  const Edge::Door server = behind.open_site(model::Protocol::http);
  behind.put(server.id, "a.example.com", "/", {{behind.room("far room")}}).value();
  const model::RuleAttributes grpc{.to_targets = model::TargetProtocol::grpc};
  const Edge::Door door = edge_.open_site(model::Protocol::https, {.tls = tls_named("a")});
  edge_.put(door.id, "a.example.com", "/", {{server.at}}, grpc).value();
  EXPECT_EQ(ask(door, "a.example.com"), "far room");
  const Edge::Door old = edge_.open_site(model::Protocol::https, {.tls = tls_named("b")});
  edge_.put(old.id, "b.example.com", "/", {{edge_.room("old room")}}, grpc).value();
  EXPECT_NE(ask(old, "b.example.com"), "old room");
}

TEST_F(SiteTlsTest, TlsEndsHereForOtherProtocolsToo) {
  const model::Port port = Edge::fresh_port();
  model::ListenerSpec spec =
      model::plain_listener(model::Protocol::tls, {port, port}, fmt::format("tls-{}", port));
  spec.attributes.tls = tls_named("a");
  const Edge::Door door{.id = edge_.create(spec), .at = {edge_.vip(), port}};
  // A room that knows nothing of TLS.
  edge_.change(door.id, {{edge_.room("plain")}}).value();
  EXPECT_EQ(ask(door, "a.example.com"), "plain");
}

// All ports of a pool's item show one: it is asked for once in each call.
TEST_F(SiteTlsTest, ListenersOfOneCertificateReadItTogether) {
  std::vector<model::ListenerSpec> specs;
  for (int i = 0; i < 5; ++i) {
    const model::Port port = Edge::fresh_port();
    specs.push_back(
        model::plain_listener(model::Protocol::tls, {port, port}, fmt::format("tls-{}", port)));
    specs.back().attributes.tls = tls_named(i < 4 ? "a" : "b");
  }
  for (const auto& made : edge_.driver->create(edge_.context, edge_.lb, specs))
    ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(edge_.certificates->reads(), 2);
  (void)edge_.driver->list(edge_.context, edge_.lb);
  EXPECT_EQ(edge_.certificates->reads(), 4) << "the audit looks whether they were renewed";
}

TEST_F(SiteTlsTest, KeysLieInFilesThatOnlyWeCanRead) {
  const Edge::Door door = edge_.open_site(model::Protocol::https, {.tls = tls_named("a")});
  edge_.put(door.id, "a.example.com", "/", {{edge_.room("room")}}).value();
  const std::string line =
      read_file(fmt::format("/proc/{}/cmdline", edge_.haproxy().worker), 64u << 10).value();
  const std::string config = line.substr(line.find("-f") + 3);
  const std::filesystem::path folder =
      std::filesystem::path(config.substr(0, config.find('\0'))).parent_path();
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(folder).permissions(), perms::owner_all);
  int keys = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".pem") continue;
    ++keys;
    EXPECT_EQ(entry.status().permissions(), perms::owner_read | perms::owner_write);
  }
  EXPECT_EQ(keys, 1);
  edge_.driver.reset();
  EXPECT_FALSE(std::filesystem::exists(folder)) << "they outlive the edge";
}

}  // namespace
}  // namespace berth::edge
