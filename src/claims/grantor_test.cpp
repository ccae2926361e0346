#include "claims/grantor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/walkers.h"
#include "claims/test_support.h"
#include "kube/client/test_fake_transport.h"

namespace berth::claims {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using wire::Array;
using wire::Object;
using wire::Value;

const model::LoadBalancerRef kDemo{model::Provider::edge, "", "demo"};

ledger::Grant grant_of(std::string pool, model::PortRange ports) {
  return {.transport = model::Transport::tcp,
          .ports = ports,
          .owner = {std::string(kPoolOwner), "games", pool, "uid-of-" + pool},
          .item = "item1",
          .since = testing::kNow};
}

class GrantorTest : public ::testing::Test {
 protected:
  GrantorTest() {
    add_indexes(listeners_, {});
    add_indexes(balancers_);
    add_indexes(blocks_);
  }

  void has_listeners(const std::vector<api::Listener>& listeners) {
    Array items;
    for (api::Listener listener : listeners) {
      listener.meta.resource_version = 7;
      items.push_back(testing::encoded(listener));
    }
    transport_.answer(200, wire::to_json(Object{{"metadata", Object{{"resourceVersion", "7"}}},
                                                {"items", std::move(items)}}));
  }
  // The next write succeeds: the API server answers with what was sent.
  void takes_object_with(const std::vector<ledger::Grant>& grants) {
    Array list;
    for (const ledger::Grant& grant : grants) list.push_back(api::encode(to_api(grant)));
    transport_.answer(201, wire::to_json(Object{{"metadata", Object{{"name", "edge.demo"},
                                                                    {"uid", "uid-of-demo"},
                                                                    {"resourceVersion", "8"}}},
                                                {"spec", Object{{"provider", "edge"},
                                                                {"loadBalancerID", "demo"},
                                                                {"grants", std::move(list)}}}}));
  }
  // "tcp 30000-30000 of rooms" of each grant in the body of a creation.
  std::vector<std::string> granted_in(const net::Request& request) {
    std::vector<std::string> out;
    const Value body = wire::parse_json(request.body).value();
    for (const Value& grant : body.at("spec").at("grants").as_array())
      out.push_back(fmt::format("{} {}-{} of {}", wire::string_at(grant, "/protocol"),
                                grant.at("startPort").as_int64(), grant.at("endPort").as_int64(),
                                wire::string_at(grant, "/ownerName")));
    return out;
  }

  kube::testing::JumpingTasks tasks_;
  kube::testing::FakeTransport transport_;
  kube::Client client_{transport_, kube::fixed_config("https://api:6443", {})};
  BalancerStore balancers_;
  ListenerStore listeners_;
  BlockStore blocks_;
  Grantor grantor_{client_, balancers_, blocks_, listeners_, testing::sealer()};
  const Context context_{.tasks = tasks_};
};

// Somebody deleted the LoadBalancer object a moment after a Listener was made.
TEST_F(GrantorTest, RebuildsALostObjectFromListenersThatItsCacheDoesNotShowYet) {
  const api::Listener unseen = testing::lock_at({.ports = {30000, 30000}});
  has_listeners({unseen});
  const ledger::Grant of_rooms = grant_of("rooms", {30000, 30000});
  takes_object_with({of_rooms});

  const Result<> granted = grantor_.grant(context_, kDemo, grant_of("halls", {30000, 30009}));

  ASSERT_FALSE(granted);
  EXPECT_EQ(granted.error().code, Code::conflict);
  EXPECT_THAT(granted.error().to_string(), HasSubstr("PortPool games/rooms"));
  ASSERT_EQ(transport_.requests.size(), 2U);
  EXPECT_EQ(transport_.requests[0].method, "GET");
  EXPECT_EQ(transport_.requests[1].method, "POST");
  EXPECT_THAT(granted_in(transport_.requests[1]), ElementsAre("TCP 30000-30000 of rooms"));
}

TEST_F(GrantorTest, BringsBackALostObjectWithListenersThatItsCacheDoesNotShowYet) {
  api::Listener known = testing::lock_at({.ports = {30000, 30000}});
  const api::Listener unseen = testing::lock_at({.ports = {30001, 30001}});
  has_listeners({known, unseen});
  takes_object_with({grant_of("rooms", {30000, 30001})});
  const auto shared = std::make_shared<const api::Listener>(known);
  listeners_.put(std::move(known));

  ASSERT_TRUE(grantor_.restore(context_, {shared}));

  ASSERT_EQ(transport_.requests.size(), 2U);
  EXPECT_THAT(granted_in(transport_.requests[1]), ElementsAre("TCP 30000-30001 of rooms"));
}

// What cannot be listed may hold any port.
TEST_F(GrantorTest, MakesNoObjectWhileListenersCannotBeListed) {
  transport_.fail_with(Code::timeout);

  const Result<> granted = grantor_.grant(context_, kDemo, grant_of("halls", {30000, 30009}));

  ASSERT_FALSE(granted);
  EXPECT_EQ(granted.error().code, Code::timeout);
  EXPECT_TRUE(balancers_.all().empty());
  for (const net::Request& request : transport_.requests) EXPECT_EQ(request.method, "GET");
}

}  // namespace
}  // namespace berth::claims
