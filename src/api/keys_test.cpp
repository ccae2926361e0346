#include "api/keys.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

TEST(Keys, ALongBindingLabelIsCutAsUpstreamCutsIt) {
  EXPECT_EQ(pool_binding_label("pool1", "ingress-test"), "portpool.pool1.ingress-test");
  const std::string longest = pool_binding_label(std::string(60, 'p'), "games");
  EXPECT_EQ(longest.size(), 63u);
  EXPECT_EQ(longest.substr(0, 50), "portpool." + std::string(41, 'p'));
  EXPECT_NE(longest, pool_binding_label(std::string(60, 'p'), "arena"));
}

TEST(Keys, TheItemOfAListenerIsADigestInTheKey) {
  // echo -n item1 | md5sum
  EXPECT_EQ(pool_item_label("pool1", "item1"), "pool1/cabf67b0be34694cd96a9ec1c0ef766e");
}

TEST(Keys, LabelValuesAlwaysFit) {
  EXPECT_EQ(label_value("item1"), "item1");
  EXPECT_EQ(label_value(std::string(63, 'a')), std::string(63, 'a'));
  for (const std::string& odd : {std::string(128, 'a'), std::string("a b"), std::string("-a"),
                                 std::string("a_"), std::string("项")}) {
    const std::string value = label_value(odd);
    EXPECT_NE(value, odd);
    EXPECT_LE(value.size(), kMaxLabelText) << odd;
    EXPECT_EQ(value.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_."), std::string::npos)
        << value;
    EXPECT_TRUE(value.front() != '-' && value.back() != '_') << value;
  }
  EXPECT_NE(label_value(std::string(128, 'a')), label_value(std::string(127, 'a')));
}

TEST(Keys, APoolsListenerHasTheLabelsOfUpstream) {
  const auto labels =
      pool_listener_labels("pool1", "item1", {model::Provider::tencent, "ap-x", "lb-xxx"}, false);
  const std::map<std::string, std::string> expected{
      {"portpool.bkbcs.tencent.com", "true"},
      {"uptime_check.bkbcs.tencent.com", "true"},
      {"segmentlistener.bkbcs.tencent.com", "false"},
      {"ingress.bkbcs.tencent.com/lbid", "lb-xxx"},
      {"ingress.bkbcs.tencent.com/lbregion", "ap-x"},
      {"pool1/cabf67b0be34694cd96a9ec1c0ef766e", "portpool-item-name"},
      {"owner-kind", "PortPool"},
      {"owner-name", "pool1"}};
  EXPECT_EQ(labels, expected);
}

TEST(Keys, AnIngresssListenerHasTheLabelsOfUpstream) {
  const auto labels = ingress_listener_labels("web", {model::Provider::tencent, "ap-x", "lb-xxx"},
                                              /*segment=*/true);
  const std::map<std::string, std::string> expected{{"web", "ingress-name"},
                                                    {"segmentlistener.bkbcs.tencent.com", "true"},
                                                    {"ingress.bkbcs.tencent.com/lbid", "lb-xxx"},
                                                    {"ingress.bkbcs.tencent.com/lbregion", "ap-x"},
                                                    {"owner-kind", "Ingress"},
                                                    {"owner-name", "web"}};
  EXPECT_EQ(labels, expected);
}

TEST(Keys, ALongNameOfAnIngressStillFitsItsLabel) {
  const std::string name(80, 'w');
  const auto labels = ingress_listener_labels(name, {}, false);
  for (const auto& [key, value] : labels) {
    EXPECT_LE(key.size() - (key.find('/') == std::string::npos ? 0 : key.find('/') + 1),
              kMaxLabelText);
    EXPECT_LE(value.size(), kMaxLabelText);
  }
  EXPECT_EQ(labels.at(label_value(name)), "ingress-name");
}

// Its name is a key of ours.
TEST(Keys, AnIngressTakesNoOtherLabelAway) {
  const auto labels = ingress_listener_labels("owner-kind", {}, false);
  EXPECT_EQ(labels.at("owner-kind"), "Ingress");
  EXPECT_EQ(labels.at("owner-name"), "owner-kind");
}

}  // namespace
}  // namespace berth::api
