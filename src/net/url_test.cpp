#include "net/url.h"

#include <gtest/gtest.h>

namespace berth::net {
namespace {

TEST(Url, IsTakenApart) {
  const auto url = parse_url("HTTPS://API.example:6443/api/v1/pods?limit=500&x=a%20b#part");
  ASSERT_TRUE(url) << url.error().to_string();
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->host, "api.example");
  EXPECT_EQ(url->port, 6443);
  EXPECT_EQ(url->path, "/api/v1/pods");
  EXPECT_EQ(url->query, "limit=500&x=a%20b");
  EXPECT_EQ(url->to_string(), "https://api.example:6443/api/v1/pods?limit=500&x=a%20b");
}

TEST(Url, DefaultPortsAreImpliedAndNotPrinted) {
  EXPECT_EQ(parse_url("http://h")->port, 80);
  EXPECT_EQ(parse_url("https://h")->port, 443);
  EXPECT_EQ(parse_url("https://h:443")->to_string(), "https://h/");
  EXPECT_EQ(parse_url("http://h:443?q")->to_string(), "http://h:443/?q");
}

TEST(Url, Ipv6AddressStandsInBrackets) {
  const auto url = parse_url("https://[fd00::1]:8443/x");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "fd00::1");
  EXPECT_EQ(url->port, 8443);
  EXPECT_EQ(url->authority(), "[fd00::1]:8443");
  EXPECT_EQ(parse_url("http://[::1]")->to_string(), "http://[::1]/");
}

TEST(Url, WhatIsWrongIsSaid) {
  const auto message = [](std::string_view text) {
    const auto url = parse_url(text);
    return url ? "accepted" : url.error().message;
  };
  EXPECT_EQ(message("ftp://h/"), "URL scheme 'ftp' is not http or https");
  EXPECT_EQ(message("h:80/"), "URL 'h:80/' does not start with http:// or https://");
  EXPECT_EQ(message("http://h:0/"), "port '0' is not 1-65535");
  EXPECT_EQ(message("http://h:65536/"), "port '65536' is not 1-65535");
  EXPECT_EQ(message("http://h:8x/"), "port '8x' is not 1-65535");
  EXPECT_EQ(message("http:///x"), "'' has no host");
  EXPECT_EQ(message("http://[::1/"), "'[::1' has no closing ]");
  EXPECT_EQ(message("http://[::1]x/"), "'[::1]x' is not host:port");
  EXPECT_NE(message("http://h/a b"), "accepted");
  EXPECT_NE(message("http://h/a\r\nX: y"), "accepted");
  EXPECT_EQ(message("http://me:word@h/").find("word"), std::string::npos);
}

TEST(Url, HostAndPort) {
  EXPECT_EQ(join_host_port("10.0.0.1", 80), "10.0.0.1:80");
  EXPECT_EQ(join_host_port("fd00::1", 80), "[fd00::1]:80");
  const auto split = split_host_port("[fd00::1]:80");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->host, "fd00::1");
  EXPECT_EQ(split->port, 80);
  EXPECT_FALSE(split_host_port("h"));
  EXPECT_EQ(split_host_port("h", 8090)->port, 8090);
  EXPECT_FALSE(split_host_port("fd00::1", 80)) << "without brackets the port cannot be told apart";
}

TEST(Url, PathsJoinWithOneSlash) {
  EXPECT_EQ(join_path("https://h/a/", "/b"), "https://h/a/b");
  EXPECT_EQ(join_path("https://h", "b?c"), "https://h/b?c");
}

TEST(Query, RoundTrips) {
  const QueryList list{{"labelSelector", "a=b,c in (d,e)"}, {"watch", ""}, {"x", "ä+&%"}};
  const auto text = build_query(list);
  EXPECT_EQ(text.find(' '), std::string::npos);
  const auto parsed = parse_query(text);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, list);
}

TEST(Query, IsReadAsOthersWriteIt) {
  const auto parsed = parse_query("a=1+2&b&&c=%3d=");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, (QueryList{{"a", "1 2"}, {"b", ""}, {"c", "=="}}));
  EXPECT_FALSE(parse_query("a=%zz"));
}

TEST(Target, SplitsAtTheQuestionMark) {
  EXPECT_EQ(split_target("/a?b=c?d").path, "/a");
  EXPECT_EQ(split_target("/a?b=c?d").query, "b=c?d");
  EXPECT_EQ(split_target("/a").query, "");
}

}  // namespace
}  // namespace berth::net
