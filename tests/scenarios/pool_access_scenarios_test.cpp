// Pools that say who may use them: two namespaces with the label, and one of them is not meant.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/pool_access.h"
#include "pool_house.h"

namespace berth::scenario {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using wire::Array;
using wire::Object;
using wire::Value;
using namespace std::chrono_literals;

constexpr std::string_view kNeighbours = R"(
apiVersion: v1
kind: Namespace
metadata: {name: studios, labels: {bcs-ingress-controller-inject: "true", team: x}}
---
apiVersion: v1
kind: Namespace
metadata: {name: offices, labels: {bcs-ingress-controller-inject: "true", team: z}}
)";

class PoolAccessTest : public ::testing::Test {
 protected:
  explicit PoolAccessTest(int replicas = 2) : house_(1, options(replicas, gate_is_open_)) {}
  // A gate that is open lets every pool in, as one did before there were these rules.
  static world::WorldOptions options(int replicas, std::shared_ptr<bool> gate_is_open) {
    world::WorldOptions out{.replicas = replicas};
    out.answer_webhook = [open = std::move(gate_is_open)](
                             const std::string& url,
                             const std::string& body) -> std::optional<net::Reply> {
      if (!*open || url.find("/validate-portpools") == std::string::npos) return std::nullopt;
      const Result<Value> review = wire::parse_json(body);
      const Object response{{"uid", wire::string_at(*review, "/request/uid")}, {"allowed", true}};
      net::Reply reply{.body = wire::to_json(Object{{"apiVersion", "admission.k8s.io/v1"},
                                                    {"kind", "AdmissionReview"},
                                                    {"response", response}})};
      reply.headers.set("Content-Type", "application/json");
      return reply;
    };
    return out;
  }
  void SetUp() override {
    ASSERT_TRUE(house_.open());
    ASSERT_TRUE(house_.cluster().create_all(kNeighbours));
    settle();
  }
  void settle() {
    const Result<> settled = house_.settle();
    ASSERT_TRUE(settled) << settled.error().to_string();
  }
  // What the pool's owner is told; empty: it is written. Every replica knows it soon.
  std::string annotate(std::string_view key, const Value& value) {
    std::string said;
    const auto done = Object{{"metadata", Object{{"annotations", Object{{key, value}}}}}};
    const Result<Value> written = ask("PATCH", kPools + "/rooms", done);
    if (!written) said = written.error().to_string();
    EXPECT_TRUE(house_.cluster().run_for(5s));
    return said;
  }
  // What the creator of a Pod is told; empty: it is there.
  std::string create(const std::string& ns, const std::string& name) {
    const Result<Value> made = ask("POST", "/api/v1/namespaces/" + ns + "/pods", pod(ns, name));
    return made ? "" : made.error().to_string();
  }
  Result<Value> ask(const std::string& method, const std::string& path, const Value& body) {
    auto answer = std::make_shared<Result<Value>>(fail(Code::internal, "not asked"));
    const auto done = house_.cluster().play(
        "person", [answer, method, path, body, cluster = &house_.cluster()](std::stop_token) {
          *answer = cluster->ask(method, path, body);
        });
    EXPECT_TRUE(house_.run_until([&] { return *done; }));
    return *answer;
  }
  static Value pod(const std::string& ns, const std::string& name) {
    const Object annotations{{api::kPortPoolsAnnotation, "true"},
                             {api::kPortsAnnotation, "rooms.games TCP 8000"}};
    const Object container{
        {"name", "room"}, {"image", "room:1"}, {"ports", Array{Object{{"containerPort", 8000}}}}};
    return Object{
        {"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata", Object{{"namespace", ns}, {"name", name}, {"annotations", annotations}}},
        {"spec", Object{{"containers", Array{container}}}}};
  }

  std::shared_ptr<bool> gate_is_open_ = std::make_shared<bool>(false);
  PoolHouse house_;
};

class OneReplicaTest : public PoolAccessTest {
 protected:
  OneReplicaTest() : PoolAccessTest(1) {}
};

TEST_F(OneReplicaTest, CreationsAtOneMomentDoNotPassTheBound) {
  ASSERT_EQ(annotate(api::kMaxPortsAnnotation, "3"), "");
  std::vector<std::shared_ptr<const bool>> done;
  auto made = std::make_shared<int>(0);
  for (int i = 0; i < 6; ++i) {
    done.push_back(
        house_.cluster().play("person", [made, room = pod("studios", fmt::format("room-{}", i)),
                                         cluster = &house_.cluster()](std::stop_token) {
          if (cluster->ask("POST", "/api/v1/namespaces/studios/pods", room)) ++*made;
        }));
  }
  EXPECT_TRUE(house_.run_until(
      [&] { return std::ranges::all_of(done, [](const auto& one) { return *one; }); }));
  EXPECT_EQ(*made, 3);
}

TEST_F(PoolAccessTest, OnlyListedNamespacesAndItsOwnMayUseIt) {
  ASSERT_EQ(annotate(api::kAllowedNamespacesAnnotation, "studios"), "");
  EXPECT_THAT(create("offices", "room-0"),
              AllOf(HasSubstr("PortPool games/rooms"), HasSubstr("offices"),
                    HasSubstr(std::string(api::kAllowedNamespacesAnnotation))));
  EXPECT_EQ(create("studios", "room-0"), "");
  EXPECT_EQ(create("games", "room-0"), "");
  ASSERT_EQ(annotate(api::kAllowedNamespacesAnnotation, nullptr), "");
  EXPECT_EQ(create("offices", "room-0"), "") << "without the annotation, as ever";
}

TEST_F(PoolAccessTest, ASelectorLooksAtLabelsOfTheNamespace) {
  ASSERT_EQ(annotate(api::kAllowedSelectorAnnotation, "team=x"), "");
  EXPECT_THAT(create("offices", "room-0"), HasSubstr("may not use it"));
  EXPECT_EQ(create("studios", "room-0"), "");
  const auto moved = ask("PATCH", "/api/v1/namespaces/offices",
                         Object{{"metadata", Object{{"labels", Object{{"team", "x"}}}}}});
  ASSERT_TRUE(moved) << moved.error().to_string();
  EXPECT_EQ(create("offices", "room-0"), "") << "labelled a moment ago: the server is asked";
}

TEST_F(PoolAccessTest, ANamespaceHasAtMostItsShare) {
  ASSERT_EQ(annotate(api::kMaxPortsAnnotation, "2"), "");
  EXPECT_EQ(create("studios", "room-0"), "");
  EXPECT_EQ(create("studios", "room-1"), "");
  EXPECT_THAT(create("studios", "room-2"), AllOf(HasSubstr("studios has 2 of the 2 ports"),
                                                 HasSubstr(std::string(api::kMaxPortsAnnotation))));
  EXPECT_EQ(create("offices", "room-0"), "") << "another one has a share of its own";
}

TEST_F(PoolAccessTest, WhatCannotBeReadIsRefusedAndLetsNobodyIn) {
  EXPECT_THAT(annotate(api::kAllowedNamespacesAnnotation, "studios offices"),
              AllOf(HasSubstr("games/rooms"), HasSubstr("metadata.annotations"),
                    HasSubstr("'studios offices'"), HasSubstr("games,studios")));
  EXPECT_EQ(create("offices", "room-0"), "") << "it was not written";
}

TEST_F(PoolAccessTest, WhatCouldNotBeReadFromTheBeginningLetsNobodyInFromElsewhere) {
  *gate_is_open_ = true;
  ASSERT_EQ(annotate(api::kAllowedNamespacesAnnotation, "studios offices"), "");
  *gate_is_open_ = false;
  EXPECT_THAT(create("studios", "room-0"),
              AllOf(HasSubstr("may not use it"),
                    HasSubstr(std::string(api::kAllowedNamespacesAnnotation))));
  EXPECT_EQ(create("games", "room-0"), "");
}

}  // namespace
}  // namespace berth::scenario
