// What `berth plan` says of files.
#include "preview/preview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/decode.h"
#include "controllers/portpool/pool_plan.h"
#include "frontend/listener_object.h"
#include "preview/text.h"
#include "wire/yaml.h"

namespace berth::preview {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::Value;

const Options kOnTencent{
    .defaults = {.provider = model::Provider::tencent, .region = "ap-nanjing"}};

std::string pool(std::string_view item, std::string_view name = "rooms") {
  return fmt::format(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {{name: {}, namespace: games}}
spec: {{poolItems: [{}]}}
---)",
                     name, item);
}
std::string tcp(int first, int end) {
  return fmt::format(
      "{{itemName: one, loadBalancerIDs: [lb-1], protocol: TCP, startPort: {}, endPort: {}}}",
      first, end);
}
std::string ingress(std::string_view spec, std::string_view name = "web") {
  return fmt::format(R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: Ingress
metadata: {{name: {}, namespace: games, annotations: {{networkextension.bkbcs.tencent.com/lbids: "lb-1,lb-2"}}}}
spec: {}
---)",
                     name, spec);
}
constexpr std::string_view kRule =
    "{rules: [{port: 8080, protocol: TCP, services: [{serviceName: web, servicePort: 80, "
    "isDirectConnect: true}]}]}";

Documents documents(const std::string& yaml) {
  auto out = parse_documents(yaml, "default");
  EXPECT_TRUE(out) << out.error().to_string();
  return out ? std::move(*out) : Documents{};
}
std::string error_of_parsing(const std::string& yaml) {
  const auto out = parse_documents(yaml, "default");
  return out ? "taken" : out.error().to_string();
}
Preview look(const std::string& yaml, const Options& options = kOnTencent) {
  const House house(options.defaults);
  return preview(documents(yaml), house, options);
}

TEST(Documents, OursAreFoundAndOthersNamed) {
  const Documents found = documents(pool(tcp(30000, 30010)) + R"(
apiVersion: v1
kind: Service
metadata: {name: web, namespace: games}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: nowhere}
spec: {poolItems: []}
)");
  ASSERT_EQ(found.ours.size(), 2u);
  EXPECT_EQ(found.ours[0].to_string(), "PortPool games/rooms");
  EXPECT_EQ(found.ours[1].to_string(), "PortPool default/nowhere");
  EXPECT_THAT(found.others, ElementsAre("Service games/web"));
  const Documents listed = documents(
      R"({"apiVersion": "v1", "kind": "List", "items": [{"apiVersion":
        "networkextension.bkbcs.tencent.com/v1", "kind": "PortPool", "metadata": {"name": "rooms"},
        "spec": {"poolItems": []}}]})");
  EXPECT_EQ(listed.ours.size(), 1u) << "as `kubectl get -o json` has it";
}

TEST(Documents, WhatIsWrongIsNamed) {
  EXPECT_THAT(error_of_parsing("a: [b"), HasSubstr("line")) << "not YAML";
  EXPECT_THAT(error_of_parsing("just text"), HasSubstr("document 1: it is no object"));
  EXPECT_THAT(
      error_of_parsing(pool(tcp(1, 2)) +
                       "\napiVersion: networkextension.bkbcs.tencent.com/v1\nkind: "
                       "PortPol\nmetadata: {name: x}"),
      AllOf(HasSubstr("document 2"), HasSubstr("'PortPol'"), HasSubstr("did you mean PortPool?")));
  EXPECT_THAT(error_of_parsing("apiVersion: v1\nkind: Service\nmetadata: {name: web}"),
              HasSubstr("there is no PortPool and no Ingress in it; there is Service web"));
  EXPECT_THAT(
      error_of_parsing(pool("{itemName: one, loadBalancerIDs: [lb-1], startport: 1, endPort: 2}")),
      AllOf(HasSubstr("PortPool games/rooms: spec.poolItems[0].startport: there is no such "
                      "field"),
            HasSubstr("did you mean startPort?")));
  EXPECT_THAT(
      error_of_parsing(ingress("{rules: [{port: 80, protocol: TCP, services: [{serviceName: "
                               "a, servicePort: 80, wait: 1}]}]}")),
      HasSubstr("spec.rules[0].services[0].wait"));
  EXPECT_THAT(
      error_of_parsing(
          "apiVersion: networkextension.bkbcs.tencent.com/v2\nkind: PortPool\nmetadata: {name: x}"),
      HasSubstr("apiVersion"));
}

TEST(Preview, OfAPoolThatIsNewEverythingIsMade) {
  const Preview found = look(pool(tcp(30000, 30100)));
  ASSERT_EQ(found.objects.size(), 1u);
  EXPECT_TRUE(found.objects[0].is_new);
  ASSERT_EQ(found.objects[0].balancers.size(), 1u);
  EXPECT_EQ(found.objects[0].balancers[0].created, 100u);
  EXPECT_EQ(found.calls, (lb::Calls{{"CreateListener", 3}}));
  EXPECT_DOUBLE_EQ(found.seconds, 3 * 0.55);
  EXPECT_FALSE(found.is_refused());
}

TEST(Preview, OfAnIngressRulesAreMadeOnEachLoadBalancer) {
  const Preview found = look(ingress(kRule));
  ASSERT_EQ(found.objects[0].balancers.size(), 2u);
  EXPECT_EQ(found.calls, (lb::Calls{{"CreateListener", 2}}));
  EXPECT_DOUBLE_EQ(found.seconds, 0.55) << "side by side";
  EXPECT_THAT(found.objects[0].notes,
              Contains(HasSubstr("spec.rules[0].services[0]: Service games/web is not there")));
}

TEST(Preview, WhatTheWebhookWouldRefuseIsRefused) {
  const Preview found = look(pool(tcp(30010, 30000)));
  ASSERT_TRUE(found.is_refused());
  EXPECT_THAT(to_text(found), AllOf(HasSubstr("PortPool games/rooms would be refused"),
                                    HasSubstr("endPort"), HasSubstr("it would be refused")));
  const Preview warned =
      look(pool("{itemName: one, loadBalancerIDs: [lb-1], protocol: TCP, startPort: 1, endPort: 2, "
                "uptimeCheck: {enabled: true}}"));
  EXPECT_FALSE(warned.objects[0].warnings.empty());
  EXPECT_THAT(to_text(warned), HasSubstr("Warning: "));
}

TEST(Preview, ASecondDocumentSeesWhatTheFirstWouldHave) {
  const Preview found = look(pool(tcp(8000, 8100)) + ingress(kRule));
  EXPECT_THAT(found.objects[1].notes,
              Contains(AllOf(HasSubstr("waits"), HasSubstr("PortPool games/rooms"))));
}

TEST(Preview, ANameThatNobodyKnowsYetIsSaid) {
  const Preview found =
      look(pool("{itemName: one, loadBalancerIDs: [by-name], protocol: TCP, "
                "startPort: 1, endPort: 2}"));
  EXPECT_FALSE(found.is_refused());
  EXPECT_THAT(found.objects[0].notes, Contains(HasSubstr("looked up by the controller")));
}

// A pool that is there, with its Listeners as the controller made them.
class Grown : public ::testing::Test {
 protected:
  void make(const std::string& yaml) {
    const Documents before = documents(yaml);
    Value object = before.ours.at(0).object;
    wire::Object& meta = object.get_object()["metadata"].get_object();
    meta["uid"] = "uid-of-rooms";
    meta["resourceVersion"] = "5";
    meta["creationTimestamp"] = "2026-01-01T00:00:00Z";
    const api::PortPool pool = api::decode_port_pool(object).value();
    std::vector<Value> listeners;
    const auto refs_of = [](const api::PortPool&, const api::PortPoolItem& item) {
      return api::load_balancers_of(item, kOnTencent.defaults);
    };
    for (const auto& part : controllers::portpool::wants_of(pool, refs_of, {}).parts)
      for (const frontend::WantedListener& one : part.listeners) {
        const auto owner = controllers::portpool::owner_of(pool);
        Value made = frontend::new_listener(owner, one, {.balancer = model::canonical(one.lb)});
        wire::Object& its = made.get_object()["metadata"].get_object();
        its["namespace"] = "games";
        its["uid"] = "uid-of-" + one.name;
        its["resourceVersion"] = "6";
        made.get_object()["status"] =
            wire::Object{{"listenerID", "lbl-" + one.name}, {"status", "Synced"}};
        listeners.push_back(std::move(made));
      }
    house_.add_listeners(listeners);
    house_.add_existing(before.ours[0], object);
  }
  Preview after(const std::string& yaml) { return preview(documents(yaml), house_, kOnTencent); }

  House house_{kOnTencent.defaults};
};

TEST_F(Grown, TheSameAgainCostsNothing) {
  make(pool(tcp(30000, 30010)));
  const Preview found = after(pool(tcp(30000, 30010)));
  EXPECT_FALSE(found.objects[0].is_new);
  EXPECT_EQ(found.objects[0].balancers.at(0).kept, 10u);
  EXPECT_THAT(found.calls, IsEmpty()) << to_text(found);
  EXPECT_THAT(to_text(found), HasSubstr("calls: none"));
}

TEST_F(Grown, OnlyWhatIsMoreIsMade) {
  make(pool(tcp(30000, 30010)));
  const OnBalancer on = after(pool(tcp(30000, 30015))).objects[0].balancers.at(0);
  EXPECT_EQ(on.created, 5u);
  EXPECT_EQ(on.kept, 10u);
  EXPECT_EQ(on.calls, (lb::Calls{{"CreateListener", 1}}));
}

TEST_F(Grown, AttributesAreChangedOneByOne) {
  make(pool(tcp(30000, 30004)));
  const std::string with_check = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: rooms, namespace: games}
spec:
  listenerAttribute: {sessionTime: 60}
  poolItems: [{itemName: one, loadBalancerIDs: [lb-1], protocol: TCP, startPort: 30000, endPort: 30004}]
)";
  const Preview found = after(with_check);
  EXPECT_EQ(found.objects[0].balancers.at(0).changed, 4u) << to_text(found);
  EXPECT_EQ(lb::sum_of(found.calls), 4u) << "the cloud takes one listener for each call";
}

TEST_F(Grown, AnItemThatGoesIsRemovedInBatches) {
  make(pool(tcp(30000, 30030)));
  const Preview found = after(pool(
      "{itemName: two, loadBalancerIDs: [lb-1], protocol: UDP, startPort: 40000, endPort: 40001}"));
  const OnBalancer on = found.objects[0].balancers.at(0);
  EXPECT_EQ(on.removed, 30u) << to_text(found);
  EXPECT_EQ(on.created, 1u);
  EXPECT_EQ(on.calls.at("DeleteLoadBalancerListeners"), 2u);
}

TEST_F(Grown, WhatMayNotChangeIsRefused) {
  make(pool(tcp(30000, 30010)));
  EXPECT_TRUE(after(pool(tcp(30001, 30010))).is_refused());
}

TEST(PreviewText, IsATableAndJson) {
  const Preview found = look(pool(tcp(30000, 30010)));
  EXPECT_EQ(to_text(found),
            R"(OBJECT                 LOAD BALANCER     NEW   CHANGED   REMOVED   SAME   CALLS
PortPool games/rooms   ap-nanjing:lb-1   10    0         0         0      CreateListener 1

calls: CreateListener 1
at the least 0.6 s
)");
  const Value json = to_json(found);
  EXPECT_EQ(wire::int_at(json, "/calls/CreateListener"), 1);
  EXPECT_EQ(wire::int_at(json, "/objects/0/loadBalancers/0/created"), 10);
  EXPECT_EQ(wire::bool_at(json, "/refused"), false);
}

}  // namespace
}  // namespace berth::preview
