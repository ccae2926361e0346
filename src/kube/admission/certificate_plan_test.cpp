#include "kube/admission/certificate_plan.h"

#include <gtest/gtest.h>

namespace berth::kube {
namespace {

using namespace std::chrono_literals;

const WallTime kMade = parse_rfc3339("2026-03-01T00:00:00Z").value();
constexpr Duration kDay = 24h;

CertificateKeeperOptions options() {
  return {.dns_names = {"berth.berth-system.svc"},
          .ip_addresses = {"127.0.0.1"},
          .authority_lifetime = 900 * kDay,
          .certificate_lifetime = 90 * kDay};
}

crypto::KeyPair authority_made(WallTime at) {
  return crypto::make_authority(
             {.common_name = "authority", .not_before = at, .lifetime = 900 * kDay})
      .value();
}

crypto::KeyPair serving_made(const crypto::KeyPair& authority, WallTime at) {
  return crypto::issue_certificate(authority, {.common_name = "berth",
                                               .dns_names = options().dns_names,
                                               .ip_addresses = options().ip_addresses,
                                               .not_before = at,
                                               .lifetime = 90 * kDay})
      .value();
}

WebhookCertificate both_made(WallTime at) {
  const crypto::KeyPair authority = authority_made(at);
  return {.serving = serving_made(authority, at),
          .authority = authority,
          .ca_bundle = authority.certificate_pem};
}

std::string plan_at(const WebhookCertificate& found, WallTime now,
                    const CertificateKeeperOptions& wanted = options()) {
  const RenewalPlan plan = plan_renewal(&found, wanted, now);
  return fmt::format("{}{}", plan.authority ? "authority " : "", plan.serving ? "serving" : "");
}

TEST(CertificatePlan, WithNothingEverythingIsMade) {
  const RenewalPlan plan = plan_renewal(nullptr, options(), kMade);
  EXPECT_TRUE(plan.authority);
  EXPECT_TRUE(plan.serving);
  EXPECT_EQ(plan_at({.serving = {"garbage", {}}, .authority = {"garbage", {}}}, kMade),
            "authority serving");
}

TEST(CertificatePlan, AThirdOfTheLifeIsKeptInReserve) {
  const WebhookCertificate found = both_made(kMade);
  EXPECT_EQ(plan_at(found, kMade), "");
  EXPECT_EQ(plan_at(found, kMade + 59 * kDay), "");
  EXPECT_EQ(plan_at(found, kMade + 61 * kDay), "serving");
}

TEST(CertificatePlan, ANewAuthorityIsAnnouncedBeforeItSigns) {
  const WallTime now = kMade + 601 * kDay;
  WebhookCertificate found = both_made(kMade);
  found.serving = serving_made(found.authority, now - 61 * kDay);
  EXPECT_EQ(plan_at(found, now), "authority ") << "both are due, but one waits";

  const crypto::KeyPair next = authority_made(now);
  found.ca_bundle = next.certificate_pem + found.authority.certificate_pem;
  found.authority = next;
  EXPECT_EQ(plan_at(found, now + 1h), "");
  EXPECT_EQ(plan_at(found, now + kAnnouncement), "serving");
}

TEST(CertificatePlan, WhatCannotServeDoesNotWait) {
  const WebhookCertificate found = both_made(kMade);
  EXPECT_EQ(plan_at(found, kMade + 90 * kDay - 1h), "serving") << "it ends within the announcement";
  EXPECT_EQ(plan_at(found, kMade + 1000 * kDay), "authority serving") << "both have ended";
  CertificateKeeperOptions renamed = options();
  renamed.dns_names = {"berth.elsewhere.svc"};
  EXPECT_EQ(plan_at(found, kMade, renamed), "serving");
  WebhookCertificate stranger = found;
  stranger.serving = both_made(kMade).serving;
  EXPECT_EQ(plan_at(stranger, kMade), "serving") << "no authority of the bundle has signed it";
}

}  // namespace
}  // namespace berth::kube
