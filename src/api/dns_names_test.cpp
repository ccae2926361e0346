#include "api/dns_names.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::api {
namespace {

TEST(DnsNames, NamespacesAreLabels) {
  for (const char* good : {"games", "a", "0", "kube-system", "a--b"})
    EXPECT_TRUE(is_dns_label(good)) << good;
  for (const char* bad : {"", "a/b", "a.b", "-a", "a-", "Games", "a_b", "a b", "..", "ä"})
    EXPECT_FALSE(is_dns_label(bad)) << bad;
  EXPECT_TRUE(is_dns_label(std::string(63, 'a')));
  EXPECT_FALSE(is_dns_label(std::string(64, 'a')));
}

TEST(DnsNames, PodsAreSubdomains) {
  for (const char* good : {"room-0", "a.b.c", "0.0"}) EXPECT_TRUE(is_dns_subdomain(good)) << good;
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "a.-b", "a/b", "../x"})
    EXPECT_FALSE(is_dns_subdomain(bad)) << bad;
  EXPECT_TRUE(is_dns_subdomain(std::string(253, 'a')));
  EXPECT_FALSE(is_dns_subdomain(std::string(254, 'a')));
}

TEST(DnsNames, MoreFollowsAPrefix) {
  EXPECT_TRUE(is_dns_subdomain_prefix("room-"));
  EXPECT_TRUE(is_dns_subdomain_prefix("room"));
  EXPECT_FALSE(is_dns_subdomain_prefix("-"));
  EXPECT_FALSE(is_dns_subdomain_prefix("a/b-"));
}

}  // namespace
}  // namespace berth::api
