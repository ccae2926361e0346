// The configuration of a set of sites, byte by byte; and that users' texts are words of it.

#include "edge/haproxy/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edge/haproxy/words.h"

namespace berth::edge::haproxy {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Site web() {
  return {.name = "s-1",
          .binds = {{"10.0.0.1", 80}, {"fd00::1", 80}},
          .routes = {{.name = "s-1-a",
                      .key = {"a.example.com", "/"},
                      .targets = {{{"10.1.0.1", 9000}, 10}, {{"fd00::2", 9000}, 0}}}}};
}

// What follows everybody's part.
std::string text_of_sites(const State& state) {
  Config config = config_of(state, "/folder");
  config.sections.erase(config.sections.begin());
  return text_of(config);
}

constexpr std::string_view kNowhere =
    "backend nowhere\n"
    "  mode http\n"
    "  http-request return status 404 content-type text/plain string "
    "no\\x20rule\\x20for\\x20this\\x20domain\\x20and\\x20path\n";

TEST(HaproxyConfig, OfASiteOfHttp) {
  EXPECT_EQ(text_of_sites({.sites = {web()}}),
            "frontend s-1\n"
            "  mode http\n"
            "  bind 10.0.0.1:80\n"
            "  bind [fd00::1]:80\n"
            "  http-request set-header X-Forwarded-For %[src]\n"
            "  http-request set-header X-Forwarded-Proto http\n"
            "  use_backend s-1-a if { req.hdr(host),field(1,:),lower -m str -- a.example.com }\n"
            "  default_backend nowhere\n"
            "backend s-1-a\n"
            "  mode http\n"
            "  option http-server-close\n"
            "  balance roundrobin\n"
            "  server t_10.1.0.1_9000 10.1.0.1:9000 weight 10\n"
            "  server t_fd00::2_9000 [fd00::2]:9000 weight 0 disabled\n" +
                std::string(kNowhere));
}

TEST(HaproxyConfig, OfASiteOfHttpsWithCertificatesByName) {
  Site site = web();
  site.protocol = model::Protocol::https;
  site.binds.pop_back();
  site.tls.certificates = {"cert-0.pem"};
  site.routes[0].tls = {.certificates = {"cert-1.pem"}, .client_ca = "ca-1.pem"};
  const State state{.sites = {site}};
  const std::string text = text_of_sites(state);
  EXPECT_THAT(text, HasSubstr("  bind 10.0.0.1:80 ssl crt-list /folder/s-1.list alpn "
                              "h2,http/1.1\n"));
  EXPECT_THAT(text, HasSubstr("  http-request return status 421 unless { ssl_fc_sni,lower -m str "
                              "-- a.example.com }\n"));
  EXPECT_EQ(config_of(state, "/folder").lists.at("s-1.list"),
            "/folder/cert-0.pem default.invalid\n"
            "/folder/cert-1.pem [ca-file /folder/ca-1.pem verify required] a.example.com\n");
}

TEST(HaproxyConfig, OfMutualTlsForAll) {
  Site site{.name = "s-2",
            .protocol = model::Protocol::tls,
            .binds = {{"10.0.0.1", 443}},
            .tls = {.certificates = {"cert-0.pem"}, .client_ca = "ca-0.pem"},
            .routes = {{.name = "s-2-a", .targets = {{{"10.1.0.1", 9000}, 10}}}}};
  EXPECT_EQ(text_of_sites({.sites = {site}}),
            "frontend s-2\n"
            "  mode tcp\n"
            "  bind 10.0.0.1:443 ssl crt-list /folder/s-2.list ca-file /folder/ca-0.pem verify "
            "required\n"
            "  default_backend s-2-a\n"
            "backend s-2-a\n"
            "  mode tcp\n"
            "  balance roundrobin\n"
            "  server t_10.1.0.1_9000 10.1.0.1:9000 weight 10\n");
}

TEST(HaproxyConfig, OfAttributes) {
  Site site = web();
  site.attributes = {.keep_alive = true, .max_rate = 100};
  site.routes[0].attributes = {.scheduler = model::Scheduler::source_ip,
                               .to_targets = model::TargetProtocol::https,
                               .session_seconds = 30,
                               .health_check = model::HealthCheck{.interval_seconds = 7,
                                                                  .port = 81,
                                                                  .http_path = "/up",
                                                                  .http_method = "HEAD",
                                                                  .http_codes = "6"}};
  const std::string text =
      text_of_sites({.sites = {site}, .bounds = {.connections_per_client = 5}});
  for (const char* line :
       {"  rate-limit sessions 100\n", "  balance source\n  hash-type consistent\n",
        "  stick-table type ipv6 size 100000 expire 30000ms\n  stick on src\n",
        "  http-check send meth HEAD uri /up ver HTTP/1.1 hdr Host a.example.com\n",
        "  http-check expect status 200-299,300-399\n",
        "  tcp-request connection reject if { sc0_conn_cur gt 5 }\n",
        "weight 10 ssl verify none check inter 7000 rise 3 fall 3 port 81\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("http-server-close")));
}

TEST(HaproxyConfig, LargeWeightsKeepTheirProportions) {
  Site site = web();
  site.routes[0].targets = {{{"10.1.0.1", 1}, 1000}, {{"10.1.0.2", 1}, 500}, {{"10.1.0.3", 1}, 1}};
  const std::string text = text_of_sites({.sites = {site}});
  for (const char* weight :
       {"10.1.0.1:1 weight 256\n", "10.1.0.2:1 weight 128\n", "10.1.0.3:1 weight 1\n"})
    EXPECT_THAT(text, HasSubstr(weight));
}

TEST(HaproxyConfig, ALineIsFoundInItsSite) {
  State state{.sites = {web(), web()}};
  state.sites[1].name = "s-3";
  state.sites[1].routes[0].name = "s-3-a";
  const Config config = config_of(state, "/folder");
  const std::string text = text_of(config);
  const auto line_of = [&](std::string_view part) {
    return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, text.find(part)), '\n'));
  };
  EXPECT_EQ(site_at(config, line_of("frontend s-1\n")), "s-1");
  EXPECT_EQ(site_at(config, line_of("backend s-1-a\n") + 5), "s-1");
  EXPECT_EQ(site_at(config, line_of("frontend s-3\n")), "s-3");
  EXPECT_EQ(site_at(config, 1), "");
}

TEST(HaproxyConfig, WhateverUsersWriteIsOneWordOfOneLine) {
  for (int c = 0; c < 256; ++c) {
    const std::string text = "/a" + std::string(1, static_cast<char>(c)) + "b";
    for (const char one : word(text))
      EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(one)) || one == '/' || one == '\\' ||
                  one == '.' || one == '_' || one == '-')
          << c;
  }
  EXPECT_EQ(word("/lobby/east-1.html"), "/lobby/east-1.html");
  EXPECT_EQ(word("/a b#\"'\\"), "/a\\x20b\\x23\\x22\\x27\\x5c");
  // Texts that were not checked before change no line either.
  Site site = web();
  site.routes[0].key = {"x }\nglobal\n", "/\n  server evil 10.0.0.9:1\n"};
  const std::string text = text_of_sites({.sites = {site}});
  EXPECT_THAT(text, Not(HasSubstr("\nglobal")));
  EXPECT_THAT(text, Not(HasSubstr("server evil")));
}

TEST(HaproxyConfig, CodesOfHealthChecks) {
  EXPECT_EQ(check_codes("").value(), "200-399");
  EXPECT_EQ(check_codes("2").value(), "200-299");
  EXPECT_EQ(check_codes("31").value(), "100-199,200-299,300-399,400-499,500-599");
  EXPECT_EQ(check_codes("200,204-206").value(), "200,204-206");
  for (const char* bad : {"32", "x", "200 or", "200\n", "-", "0"}) EXPECT_FALSE(check_codes(bad));
}

}  // namespace
}  // namespace berth::edge::haproxy
