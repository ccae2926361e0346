// Every file of examples/ingress on one playground, side by side: each way in is answered by those
// whom it leads to. What the users' guide has is here too, so that it is proved without the guide.

#include <gmock/gmock.h>

#include "ingress_world.h"

namespace berth {
namespace {

using ::testing::StartsWith;

class IngressExamples : public IngressWorld {
 protected:
  playground::Options options() const override { return {.low_ports = kLow}; }

  // Over HTTP, at a port that carries TCP alone: "harbour/web-...".
  std::string who_over_http(const model::Target& at) {
    const std::string said = ask_over_http("http", at, "any.example.com", "/");
    constexpr std::string_view kSays = "200 this is ";
    return said.starts_with(kSays) ? said.substr(kSays.size()) : said;
  }
  // The same, cut to the workload, for so many requests one after the other.
  std::map<std::string, int> spread_over_http(const model::Target& at, int requests) {
    std::map<std::string, int> out;
    for (int i = 0; i < requests; ++i) {
      const std::string said = who_over_http(at);
      ++out[said.starts_with("harbour/web-green") ? "green" : said];
    }
    return out;
  }
  // A client of the authority that is returned in a Secret of that name.
  std::vector<std::string> make_client(const std::string& authority_secret) {
    const WallTime since = tasks_.wall_time() - std::chrono::hours{1};
    const crypto::KeyPair authority =
        crypto::make_authority(
            {.common_name = "clients", .not_before = since, .lifetime = std::chrono::hours{24}})
            .value();
    const crypto::KeyPair own =
        crypto::issue_certificate(authority, {.common_name = "a client",
                                              .not_before = since,
                                              .lifetime = std::chrono::hours{24},
                                              .client = true})
            .value();
    create(wire::to_json(wire::Object{
        {"apiVersion", "v1"},
        {"kind", "Secret"},
        {"metadata", wire::Object{{"name", authority_secret}, {"namespace", "harbour"}}},
        {"stringData", wire::Object{{"ca.crt", authority.certificate_pem}}}}));
    const std::string certificate = (dir_->path() / "client.pem").string();
    const std::string key = (dir_->path() / "client.key").string();
    EXPECT_TRUE(write_file(certificate, own.certificate_pem, 0600));
    EXPECT_TRUE(write_file(key, std::string(own.key_pem.reveal()), 0600));
    return {"-k", "--cert", certificate, "--key", key};
  }
};

TEST_F(IngressExamples, EachWayInIsAnswered) {
  create(example("ingress/workloads.yaml"));
  for (const char* file : {"node-ports", "direct", "host-ports", "segments", "random-host-ports",
                           "weights", "subsets", "two-regions"})
    create(example(fmt::format("ingress/{}.yaml", file)));
  const std::string relay = name_of(pod_of("harbour", "relay-"));
  for (const char* name : {"over-nodes", "direct", "over-host-ports", "segments", "tables",
                           "weights", "subsets", "two-regions"})
    is_ready("harbour", name);
  // Three Pods are behind the Service: two of web and one of web-green.
  for (const auto& [ingress, port] :
       std::map<std::string, model::Port>{{"over-nodes", 40080}, {"direct", 40081}}) {
    const model::Target at = door("harbour", ingress, port);
    EXPECT_TRUE(eventually([&] { return spread_over_http(at, 3).size() == 3; })) << ingress;
  }
  expect_answer(door("harbour", "over-host-ports", 40082), relay);

  // Weight 80 for three Pods behind one node port, 20 for the green one behind the other.
  const model::Target weighted = door("harbour", "weights", 40083);
  EXPECT_TRUE(eventually([&] { return spread_over_http(weighted, 5).size() == 3; }));
  const auto shares = spread_over_http(weighted, 30);
  EXPECT_THAT(shares, ::testing::SizeIs(3));
  EXPECT_GE(shares.at("green"), 12) << "20 of 100, and a third of the rest";
  EXPECT_LE(shares.at("green"), 16);

  const model::Target subsets = door("harbour", "subsets", 40084);
  EXPECT_TRUE(eventually([&] { return spread_over_http(subsets, 7).size() == 3; }));
  const auto parts = spread_over_http(subsets, 21);
  for (const auto& [pod, count] : parts) EXPECT_EQ(count, pod == "green" ? 3 : 9) << pod;

  for (const int nth : {0, 1})
    EXPECT_THAT(who_over_http(door("harbour", "two-regions", 40085, nth)),
                StartsWith("harbour/web-"));
  for (int i = 0; i < 3; ++i) {
    const auto udp = static_cast<model::Port>(30000 + 5 * i);
    expect_echo_over_udp(door("harbour", "segments", udp), "harbour", fmt::format("arena-{}", i),
                         udp);
    expect_answer(door("harbour", "segments", static_cast<model::Port>(31000 + 2 * i)),
                  fmt::format("harbour/arena-{}", i));
  }
  for (int i = 0; i < 2; ++i)
    expect_answer(door("harbour", "tables", static_cast<model::Port>(32000 + i)),
                  fmt::format("harbour/tables-{}", i));
}

TEST_F(IngressExamples, DomainsAndPathsAreAnswered) {
  if (!has_haproxy()) GTEST_SKIP() << "haproxy is not installed";
  create(example("ingress/workloads.yaml"));
  make_certificate("harbour", "harbour-cert", "play.example.com");
  make_certificate("harbour", "play-cert", "play.example.com");
  const std::string shop = make_certificate("harbour", "shop-cert", "shop.example.com");
  const std::vector<std::string> client = make_client("harbour-clients");
  for (const char* file : {"https", "domains", "https-per-pod", "everything"})
    create(example(fmt::format("ingress/{}.yaml", file)));
  for (const char* name : {"https", "by-domain", "https-per-pod", "everything"})
    is_ready("harbour", name);
  const std::string green = "200 this is " + name_of(pod_of("harbour", "web-green-"));

  const model::Target https = door("harbour", "https", 443);
  expect_http("https", https, "play.example.com", "/", green, {"-k"});
  EXPECT_THAT(ask_over_http("https", https, "play.example.com", "/lobby", {"-k"}),
              StartsWith("200 this is harbour/web-"));
  EXPECT_EQ(ask_over_http("https", https, "nobody.example.com", "/", {"-k"}), "404");

  const model::Target staff = door("harbour", "https", 8443);
  EXPECT_THAT(ask_over_http("https", staff, "staff.example.com", "/", client),
              StartsWith("200 this is harbour/web-"));
  EXPECT_THAT(ask_over_http("https", staff, "staff.example.com", "/", {"-k"}),
              ::testing::Not(StartsWith("200")))
      << "who shows no certificate is not let in";

  const std::string ca = (dir_->path() / "shop.pem").string();
  ASSERT_TRUE(write_file(ca, shop, 0600));
  expect_http("https", door("harbour", "by-domain", 9443), "shop.example.com", "/", green,
              {"--cacert", ca});
  for (int i = 0; i < 3; ++i)
    expect_http("https", door("harbour", "https-per-pod", static_cast<model::Port>(33000 + i)),
                "arena.example.com", "/", fmt::format("200 this is harbour/arena-{}", i), {"-k"});
  EXPECT_THAT(
      ask_over_http("http", door("harbour", "everything", 40087), "play.example.com", "/test"),
      StartsWith("200 this is harbour/web-"));
  expect_answer(door("harbour", "everything", 40086), name_of(pod_of("harbour", "relay-")));
}

}  // namespace
}  // namespace berth
