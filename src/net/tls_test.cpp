// The client and the server over TLS: who trusts whom, and what is said when they do not.

#include <gtest/gtest.h>

#include "net/curl_transport.h"
#include "net/test_support.h"

namespace berth::net {
namespace {

using namespace std::chrono_literals;
using testing::Authority;
using testing::context;
using testing::start_server;

Reply who(const Request&, const Peer& peer, std::stop_token) {
  std::string text = peer.certificate_common_name;
  for (const auto& group : peer.certificate_organizations) text += "," + group;
  return {.body = text};
}

std::string url_of(const Server& server) {
  return fmt::format("https://127.0.0.1:{}/", server.port());
}

Result<Response> get(const Server& server, std::shared_ptr<const TlsSettings> tls) {
  CurlTransport transport;
  return transport.call(context(), {.url = url_of(server), .tls = std::move(tls)});
}

Error error_of_get(const Server& server, std::shared_ptr<const TlsSettings> tls) {
  auto response = get(server, std::move(tls));
  EXPECT_FALSE(response);
  return response ? Error{} : response.error();
}

TEST(Tls, TrustedServerAnswers) {
  Authority authority;
  const auto server = start_server(who, {.certificate = authority.server()});
  const auto response = get(*server, authority.trust());
  ASSERT_TRUE(response) << response.error().to_string();
  EXPECT_EQ(response->status, 200);
}

TEST(Tls, UnknownAuthorityIsNamedAsTheReason) {
  Authority authority;
  Authority other("another authority");
  const auto server = start_server(who, {.certificate = authority.server()});
  const auto error = error_of_get(*server, other.trust());
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_NE(error.message.find("certificate of the peer was not accepted"), std::string::npos);
  EXPECT_NE(error.message.find("unable to get local issuer certificate"), std::string::npos)
      << error.message;
  EXPECT_EQ(error.hint, "no trusted authority signed it: check the CA bundle");
}

TEST(Tls, ExpiredCertificateIsNamedAsTheReason) {
  Authority authority;
  const auto expired = authority.server(24h, 1h);
  const auto server = start_server(who, {.certificate = expired});
  const auto error = error_of_get(*server, authority.trust());
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_NE(error.message.find("certificate has expired"), std::string::npos) << error.message;
  EXPECT_NE(error.hint.find("renew"), std::string::npos);
}

TEST(Tls, NameThatTheCertificateDoesNotCarryIsNamedAsTheReason) {
  Authority authority;
  const auto server = start_server(who, {.certificate = authority.server()});
  const auto trust = authority.trust();
  trust->server_name = "other.example";
  const auto error = error_of_get(*server, trust);
  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_NE(error.message.find("other.example"), std::string::npos) << error.message;
  EXPECT_NE(error.hint.find("other names"), std::string::npos) << error.hint;
}

TEST(Tls, ExpectedNameMayDifferFromTheUrl) {
  Authority authority;
  const auto server = start_server(
      [](const Request& request, const Peer&, std::stop_token) {
        return Reply{.body = std::string(request.headers.get("Host"))};
      },
      {.certificate = authority.server()});
  const auto trust = authority.trust();
  trust->server_name = "berth.example";
  const auto response = get(*server, trust);
  ASSERT_TRUE(response) << response.error().to_string();
  EXPECT_EQ(response->body, fmt::format("127.0.0.1:{}", server->port()));
}

TEST(Tls, InsecureTrustsAnyone) {
  Authority authority;
  const auto server = start_server(who, {.certificate = authority.server(24h, 1h)});
  const auto trust = std::make_shared<TlsSettings>();
  trust->insecure = true;
  EXPECT_TRUE(get(*server, trust));
}

TEST(Tls, ClientCertificateSaysWhoItIs) {
  Authority authority;
  Authority clients("client authority");
  const auto server =
      start_server(who, {.certificate = authority.server(), .client_ca_pem = clients.pem()});
  const auto as = [&](const crypto::KeyPair& pair) {
    auto settings = authority.trust();
    settings->cert_pem = pair.certificate_pem;
    settings->key_pem = pair.key_pem;
    return settings;
  };
  const auto known = get(*server, as(clients.client("alice", {"admins", "people"})));
  ASSERT_TRUE(known) << known.error().to_string();
  EXPECT_EQ(known->body, "alice,admins,people");

  const auto nobody = get(*server, authority.trust());
  ASSERT_TRUE(nobody) << nobody.error().to_string();
  EXPECT_EQ(nobody->body, "");

  const auto stranger = error_of_get(*server, as(Authority("strangers").client("alice", {})));
  EXPECT_EQ(stranger.code, Code::unavailable);
  EXPECT_NE(stranger.message.find("unknown ca"), std::string::npos) << stranger.message;
}

TEST(Tls, IdentitiesDoNotShareConnections) {
  Authority authority;
  const auto server =
      start_server(who, {.certificate = authority.server(), .client_ca_pem = authority.pem()});
  CurlTransport transport;
  for (const std::string name : {"alice", "bob", "alice", ""}) {
    auto settings = authority.trust();
    if (!name.empty()) {
      const auto pair = authority.client(name, {});
      settings->cert_pem = pair.certificate_pem;
      settings->key_pem = pair.key_pem;
    }
    const auto response = transport.call(context(), {.url = url_of(*server), .tls = settings});
    ASSERT_TRUE(response) << response.error().to_string();
    EXPECT_EQ(response->body, name);
  }
}

TEST(Tls, NewConnectionsSeeTheNewCertificate) {
  Authority old_authority("old");
  Authority new_authority("new");
  const auto server = start_server(who, {.certificate = old_authority.server()});
  CurlTransport kept;
  const Request request{.url = url_of(*server), .tls = old_authority.trust()};
  ASSERT_TRUE(kept.call(context(), request));
  EXPECT_FALSE(get(*server, new_authority.trust()));

  ASSERT_TRUE(server->set_certificate(*new_authority.server()));
  const auto accepted = server->statistics().accepted;
  EXPECT_TRUE(kept.call(context(), request)) << "an open connection goes on";
  EXPECT_EQ(server->statistics().accepted, accepted);
  EXPECT_TRUE(get(*server, new_authority.trust()));
  EXPECT_FALSE(get(*server, old_authority.trust()));
}

TEST(Tls, CertificateIsSwappedUnderLoad) {
  Authority authority;
  const auto first = authority.server();
  const auto second = authority.server();
  const auto server = start_server(who, {.certificate = first});
  std::jthread swapper([&](const std::stop_token& stop) {
    for (int i = 0; !stop.stop_requested(); ++i) {
      EXPECT_TRUE(server->set_certificate(i % 2 ? *first : *second));
    }
  });
  for (int i = 0; i < 20; ++i) {
    const auto response = get(*server, authority.trust());
    ASSERT_TRUE(response) << response.error().to_string();
  }
}

TEST(Tls, UnusableCertificatesAreExplained) {
  Authority authority;
  const auto good = authority.server();
  const auto other = authority.server();
  const auto message = [&](std::string chain, Secret key) {
    const auto server = Server::start({.certificate = std::make_shared<const ServerCertificate>(
                                           ServerCertificate{std::move(chain), std::move(key)})},
                                      who);
    return server ? "started" : server.error().message;
  };
  EXPECT_NE(message("nonsense", good->key_pem).find("server certificate is not usable"),
            std::string::npos);
  EXPECT_NE(message(good->chain_pem, Secret("nonsense")).find("private key is not usable"),
            std::string::npos);
  EXPECT_NE(message(good->chain_pem, other->key_pem).find("does not belong to the certificate"),
            std::string::npos);

  const auto server = start_server(who, {.certificate = good});
  EXPECT_FALSE(server->set_certificate({good->chain_pem, other->key_pem}));
  EXPECT_TRUE(get(*server, authority.trust())) << "the old certificate stays";

  const auto no_ca = Server::start({.certificate = good, .client_ca_pem = "nonsense"}, who);
  ASSERT_FALSE(no_ca);
  EXPECT_NE(no_ca.error().message.find("client CA is not usable"), std::string::npos);
}

TEST(Tls, UnusableSettingsOfTheClientAreInvalid) {
  Authority authority;
  const auto server = start_server(who, {.certificate = authority.server()});
  const auto trust = std::make_shared<TlsSettings>();
  trust->ca_pem = "nonsense";
  EXPECT_EQ(error_of_get(*server, trust).code, Code::invalid);
  const auto key = authority.trust();
  key->cert_pem = authority.client("alice", {}).certificate_pem;
  key->key_pem = authority.client("bob", {}).key_pem;
  EXPECT_EQ(error_of_get(*server, key).code, Code::invalid);
}

TEST(Tls, PlainTextToATlsPortIsUnavailable) {
  Authority authority;
  const auto server = start_server(who, {.certificate = authority.server()});
  CurlTransport transport;
  const auto response =
      transport.call(context(), {.url = fmt::format("http://127.0.0.1:{}/", server->port())});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, Code::unavailable);
}

TEST(Tls, LargeStreamArrivesWhole) {
  Authority authority;
  std::string sent;
  for (int i = 0; sent.size() < (20u << 20); ++i) sent += std::to_string(i) + ",";
  const auto server = start_server(
      [&](const Request&, const Peer&, std::stop_token) {
        auto pipe = std::make_shared<BytePipe>(1);
        EXPECT_TRUE(pipe->write(sent));
        pipe->close();
        return Reply{.stream = pipe};
      },
      {.certificate = authority.server()});
  CurlTransport transport({.max_waiting_bytes = 256 << 10});
  auto stream = transport.open(context(), {.url = url_of(*server), .tls = authority.trust()});
  ASSERT_TRUE(stream) << stream.error().to_string();
  std::string received;
  for (;;) {
    const auto piece = (*stream)->read(context());
    ASSERT_TRUE(piece) << piece.error().to_string();
    if (!*piece) break;
    received += **piece;
  }
  EXPECT_TRUE(received == sent);
}

}  // namespace
}  // namespace berth::net
