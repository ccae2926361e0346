// A load balancer with many owners: blocks of its ports are handed on, called in, lost and rebuilt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <deque>

#include "api/decode.h"
#include "api/walkers.h"
#include "claims/grantor.h"
#include "claims/test_support.h"
#include "kube/client/test_scripted_api.h"
#include "sim/kernel/kernel.h"

namespace berth::claims {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const model::LoadBalancerRef kDemo{model::Provider::edge, "", "demo"};
const std::string kName = "edge.demo";
const kube::ResourceType& kBalancers = api::load_balancer_kind().type;
const kube::ResourceType& kBlocks = api::port_block_kind().type;

// Caches that hear of everything at once, unless they are behind.
class GrantorBlocksTest : public ::testing::Test {
 protected:
  explicit GrantorBlocksTest(ledger::Layout layout = {.long_list = 2, .block_ports = 4})
      : grantor_(client_, balancers_, blocks_, listeners_, testing::sealer(), layout) {
    add_indexes(listeners_, {});
    add_indexes(balancers_);
    add_indexes(blocks_);
    api_.on_change = [this](std::string_view plural, const kube::ObjectKey& key,
                            const wire::Value* now) {
      if (plural == "listeners") tell(listeners_, api::decode_listener, key, now);
      if (plural == "loadbalancers") tell(balancers_, api::decode_load_balancer, key, now);
      if (plural == "portblocks") tell(blocks_, api::decode_port_block, key, now);
    };
  }
  template <class Store, class Decode>
  void tell(Store& store, Decode decode, const kube::ObjectKey& key, const wire::Value* now) {
    if (!is_watching_) return;
    if (now) {
      store.put(decode(*now).value());
    } else {
      store.erase(key, "", api_.version());
    }
  }

  static ledger::Grant ports(int owner, model::PortRange ports) {
    return {.ports = ports,
            .owner = {"Stage", "games", fmt::format("stage-{}", owner),
                      fmt::format("uid-of-{}", owner)},
            .item = "one",
            .since = testing::kNow};
  }
  static ledger::Grant port(int owner, model::Port port) { return ports(owner, {port, port}); }

  template <class Body>
  auto run(Body body) {
    std::optional<decltype(body())> out;
    const auto task = kernel_.world().spawn("test", [&](std::stop_token) { out = body(); });
    EXPECT_TRUE(kernel_.run_until([&] { return out.has_value(); }));
    return std::move(*out);
  }
  Result<> grant(const ledger::Grant& wanted) {
    return run([&] { return grantor_.grant(context_, kDemo, wanted); });
  }
  void must_grant(int owner, model::Port first) {
    const Result<> granted = grant(port(owner, first));
    EXPECT_TRUE(granted) << granted.error().to_string();
  }
  void release(int owner) {
    EXPECT_TRUE(run([&] { return grantor_.release(context_, fmt::format("uid-of-{}", owner)); }));
  }
  bool tidy() {
    return run([&] { return grantor_.tidy(context_, kName); }).value();
  }
  // Four owners of one port each: two fill the list, and two have a block of their own.
  void hand_a_block_on() {
    must_grant(1, 100);
    must_grant(2, 200);
    must_grant(3, 300);
    must_grant(4, 301);
    ASSERT_THAT(api_.all(kBlocks), SizeIs(1));
  }
  // A Listener of the owner's at the port, with our seal.
  static api::Listener listener(int owner, model::Port port) {
    api::Listener one = testing::peer_at({.item = "one", .ports = {port, port}});
    const std::string name = fmt::format("stage-{}", owner);
    testing::put(one.meta.labels, api::kOwnerKindKey, "Stage");
    testing::put(one.meta.labels, api::kOwnerNameKey, name);
    testing::put(one.meta.labels, api::kLoadBalancerIdLabel, "demo");
    one.meta.owners = {{.kind = kube::Interned("Stage"),
                        .name = name,
                        .uid = fmt::format("uid-of-{}", owner),
                        .controller = true}};
    return testing::sealed(std::move(one));
  }
  void has_listener(int owner, model::Port port) {
    api_.put(api::listener_kind().type, testing::encoded(listener(owner, port)));
  }

  // "300 stage-3", as readers see it.
  std::vector<std::string> granted() const {
    std::vector<std::string> out;
    for (const ledger::Grant& one : grantor_.grants(kDemo))
      out.push_back(fmt::format("{} {}", one.ports.first, one.owner.name));
    std::ranges::sort(out);
    return out;
  }
  // The same, of what the LoadBalancer object itself says: "block 300-303".
  std::vector<std::string> list() const {
    const wire::Value* const object = api_.find(kBalancers, {"", kName});
    std::vector<std::string> out;
    if (!object) return out;
    for (const ledger::Grant& one : list_of(api::decode_load_balancer(*object).value()))
      out.push_back(ledger::is_block(one)
                        ? fmt::format("block {}-{}", one.ports.first, one.ports.last)
                        : fmt::format("{} {}", one.ports.first, one.owner.name));
    return out;
  }
  api::PortBlock block() const { return api::decode_port_block(api_.all(kBlocks).front()).value(); }

  sim::Kernel kernel_{1};
  kube::testing::ScriptedApi api_;
  kube::Client client_{api_, kube::fixed_config("https://api:6443", {})};
  BalancerStore balancers_;
  BlockStore blocks_;
  ListenerStore listeners_;
  Grantor grantor_;
  bool is_watching_ = true;
  const Context context_{.tasks = kernel_.world()};
};

TEST_F(GrantorBlocksTest, AShortListIsWrittenAsItAlwaysWas) {
  must_grant(1, 100);
  must_grant(2, 101);
  EXPECT_THAT(api_.writes(), ElementsAre("POST loadbalancers", "PATCH loadbalancers/edge.demo"));
  EXPECT_THAT(list(), ElementsAre("100 stage-1", "101 stage-2"));
  EXPECT_TRUE(tidy());
  EXPECT_THAT(api_.calls(), Not(Contains(HasSubstr("portblocks"))));
}

TEST_F(GrantorBlocksTest, OfALongListABlockIsHandedOnWithWhatLiesInIt) {
  must_grant(1, 300);
  must_grant(2, 200);
  must_grant(3, 301);
  EXPECT_THAT(list(), ElementsAre("200 stage-2", "block 300-303"));
  EXPECT_THAT(granted(), ElementsAre("200 stage-2", "300 stage-1", "301 stage-3"));
  api_.forget_calls();
  must_grant(4, 302);
  EXPECT_THAT(api_.writes(), ElementsAre(StartsWith("PATCH portblocks/edge.demo-tcp-300-")))
      << "from then on one object is written, and it is small";
}

TEST_F(GrantorBlocksTest, APortOfABlockHasOneOwner) {
  hand_a_block_on();
  const Result<> refused = grant(port(9, 300));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("Stage games/stage-3"));
  EXPECT_TRUE(grant(port(3, 300))) << "it has that one";
}

// What a version before blocks sees: a range that somebody else has.
TEST_F(GrantorBlocksTest, ToWhoKnowsNoBlocksTheirPortsAreSomebodyElses) {
  hand_a_block_on();
  const auto object = api::decode_load_balancer(*api_.find(kBalancers, {"", kName})).value();
  EXPECT_FALSE(ledger::with_grant(list_of(object), port(9, 303), {}));
  EXPECT_TRUE(api::check(object.spec, "spec").empty());
}

// Each write of handing on, lost before and after its effect.
TEST_F(GrantorBlocksTest, ACrashBetweenTheWritesLeavesOneTruth) {
  for (const bool has_effect : {false, true}) {
    for (const std::string call : {"POST portblocks", "PATCH loadbalancers", "PATCH portblocks"}) {
      SCOPED_TRACE(fmt::format("{}, {}", call, has_effect));
      must_grant(1, 300);
      must_grant(2, 200);
      api_.on({call.substr(0, call.find(' ')), call.substr(call.find(' ') + 1)},
              {.lost_before = !has_effect, .lost_after = has_effect});
      EXPECT_FALSE(grant(port(3, 301)));
      // Before anything else, nobody has lost anything and nobody has anything twice.
      EXPECT_THAT(granted(), ::testing::IsSupersetOf({"200 stage-2", "300 stage-1"}));
      must_grant(3, 301);
      EXPECT_THAT(granted(), ElementsAre("200 stage-2", "300 stage-1", "301 stage-3"));
      EXPECT_THAT(list(), ElementsAre("200 stage-2", "block 300-303"));
      EXPECT_TRUE(tidy());
      EXPECT_THAT(api_.all(kBlocks), SizeIs(1)) << "what nobody names is gone";
      for (const int owner : {1, 2, 3}) release(owner);
      EXPECT_TRUE(tidy());
      EXPECT_THAT(list(), IsEmpty());
      EXPECT_THAT(api_.all(kBlocks), IsEmpty());
    }
  }
}

TEST_F(GrantorBlocksTest, WhatNobodyCameToNameGoesByItself) {
  must_grant(1, 300);
  must_grant(2, 200);
  api_.on({"PATCH", "loadbalancers"}, {.lost_before = true});
  EXPECT_FALSE(grant(port(3, 301)));
  ASSERT_THAT(api_.all(kBlocks), SizeIs(1));
  EXPECT_TRUE(tidy());
  EXPECT_THAT(api_.all(kBlocks), IsEmpty());
  EXPECT_THAT(granted(), ElementsAre("200 stage-2", "300 stage-1"));
  api_.forget_calls();
  EXPECT_TRUE(tidy());
  EXPECT_THAT(api_.calls(), IsEmpty()) << "once it is gone, nothing is left to do";
}

// The write that names the block is under way, of a leader who does not know that he is none.
TEST_F(GrantorBlocksTest, WhoIsTooLateToNameABlockMakesAnother) {
  must_grant(1, 300);
  must_grant(2, 200);
  Grantor other(client_, balancers_, blocks_, listeners_, testing::sealer(),
                {.long_list = 2, .block_ports = 4});
  Result<bool> tidied = false;
  api_.on({"PATCH", "loadbalancers"}, {.before = [&] { tidied = other.tidy(context_, kName); }});
  must_grant(3, 301);
  EXPECT_TRUE(tidied && *tidied);
  EXPECT_THAT(granted(), ElementsAre("200 stage-2", "300 stage-1", "301 stage-3"));
  EXPECT_THAT(list(), ElementsAre("200 stage-2", "block 300-303"));
  EXPECT_THAT(api_.all(kBlocks), SizeIs(1));
}

// It was named while somebody looked for those that are not.
TEST_F(GrantorBlocksTest, ABlockThatIsNamedAtTheLastMomentStays) {
  must_grant(1, 300);
  must_grant(2, 200);
  Grantor other(client_, balancers_, blocks_, listeners_, testing::sealer(),
                {.long_list = 2, .block_ports = 4});
  Result<> granted_meanwhile;
  api_.on({"GET", "loadbalancers"}, {.after = [&] {
            is_watching_ = false;
            granted_meanwhile = other.grant(context_, kDemo, port(3, 301));
            is_watching_ = true;
          }});
  api_.put(kBlocks, wire::Object{{"metadata", wire::Object{{"name", "left"}}},
                                 {"spec", wire::Object{{"loadBalancer", kName}}}});
  (void)run([&] { return grantor_.tidy(context_, kName); });
  EXPECT_TRUE(granted_meanwhile);
  EXPECT_TRUE(tidy());
  EXPECT_THAT(list(), ElementsAre("200 stage-2", "block 300-303"));
  EXPECT_THAT(granted(), ElementsAre("200 stage-2", "300 stage-1", "301 stage-3"));
  EXPECT_THAT(api_.all(kBlocks), SizeIs(1));
}

TEST_F(GrantorBlocksTest, ABlockThatSomebodyWritesToIsLookedAtAgain) {
  hand_a_block_on();
  const std::string name = block().meta.name;
  api_.edit(kBalancers, {"", kName}, wire::Object{{"spec", wire::Object{{"grants", nullptr}}}});
  api_.on({"DELETE", "portblocks"}, {.before = [&] {
            api_.edit(kBlocks, {"", name}, wire::Object{{"spec", wire::Object{{"closed", true}}}});
          }});
  EXPECT_FALSE(tidy());
  EXPECT_TRUE(tidy());
  EXPECT_THAT(api_.all(kBlocks), IsEmpty());
}

TEST_F(GrantorBlocksTest, BlocksOfAnObjectThatIsGoneGoToo) {
  hand_a_block_on();
  api_.erase(kBalancers, {"", kName});
  EXPECT_TRUE(tidy());
  EXPECT_THAT(api_.all(kBlocks), IsEmpty());
}

TEST_F(GrantorBlocksTest, WhenTheLastGrantOfABlockGoesTheBlockDoes) {
  hand_a_block_on();
  release(3);
  EXPECT_TRUE(tidy());
  EXPECT_THAT(list(), ElementsAre("100 stage-1", "200 stage-2", "block 300-303"));
  release(4);
  EXPECT_THAT(list(), ElementsAre("100 stage-1", "200 stage-2", "block 300-303"));
  EXPECT_TRUE(tidy());
  EXPECT_THAT(list(), ElementsAre("100 stage-1", "200 stage-2"));
  EXPECT_THAT(api_.all(kBlocks), IsEmpty());
}

// A grant that came at the last moment is not lost with the block.
TEST_F(GrantorBlocksTest, ABlockThatIsUsedAgainIsNotCalledIn) {
  hand_a_block_on();
  release(3);
  release(4);
  api_.on({"PATCH", "portblocks"}, {.before = [this] {
            const wire::Array grants{api::encode(to_api(port(7, 302)))};
            api_.edit(kBlocks, {"", block().meta.name},
                      wire::Object{{"spec", wire::Object{{"grants", grants}}}});
          }});
  EXPECT_FALSE(run([&] { return grantor_.tidy(context_, kName); }));
  EXPECT_TRUE(tidy());
  EXPECT_THAT(granted(), ElementsAre("100 stage-1", "200 stage-2", "302 stage-7"));
}

TEST_F(GrantorBlocksTest, ABlockThatIsHalfCalledInIsFinishedByWhoeverComes) {
  hand_a_block_on();
  api_.edit(kBlocks, {"", block().meta.name},
            wire::Object{{"spec", wire::Object{{"closed", true}}}});
  EXPECT_THAT(granted(), ElementsAre("100 stage-1", "200 stage-2", "300 stage-3", "301 stage-4"))
      << "until then it counts";
  must_grant(5, 302);
  EXPECT_THAT(granted(), ElementsAre("100 stage-1", "200 stage-2", "300 stage-3", "301 stage-4",
                                     "302 stage-5"));
  EXPECT_TRUE(tidy());
  for (const wire::Value& one : api_.all(kBlocks))
    EXPECT_FALSE(api::decode_port_block(one)->spec.closed);
}

// Between the two writes somebody goes: what he had must not come back with the rest.
TEST_F(GrantorBlocksTest, NobodyWritesToABlockThatIsClosed) {
  hand_a_block_on();
  api_.edit(kBlocks, {"", block().meta.name},
            wire::Object{{"spec", wire::Object{{"closed", true}}}});
  const Result<> released = run([&] { return grantor_.release(context_, "uid-of-3"); });
  ASSERT_FALSE(released);
  EXPECT_TRUE(kube::was_overtaken(released.error())) << "he comes again";
  EXPECT_TRUE(tidy());
  release(3);
  EXPECT_THAT(granted(), ElementsAre("100 stage-1", "200 stage-2", "301 stage-4"));
}

TEST_F(GrantorBlocksTest, ARangeAcrossABlockIsRefusedWhereSomebodyHasAPort) {
  hand_a_block_on();
  api_.forget_calls();
  const Result<> refused = grant(ports(9, {296, 310}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::conflict);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("Stage games/stage-"));
  EXPECT_THAT(api_.writes(), IsEmpty()) << "and nothing is moved about for it";
}

TEST_F(GrantorBlocksTest, ARangeAcrossABlockIsGrantedWhereItsPortsAreFree) {
  hand_a_block_on();
  EXPECT_TRUE(grant(ports(9, {302, 310})));
  EXPECT_THAT(list(), ElementsAre("100 stage-1", "200 stage-2", "300 stage-3", "301 stage-4",
                                  "302 stage-9"));
  EXPECT_THAT(api_.all(kBlocks), IsEmpty());
}

// Its former ports lie in a block, its new ones do not.
TEST_F(GrantorBlocksTest, AnItemThatMovesLeavesNothingBehind) {
  hand_a_block_on();
  EXPECT_TRUE(grant(ports(3, {400, 410})));
  EXPECT_THAT(granted(), ElementsAre("100 stage-1", "200 stage-2", "301 stage-4", "400 stage-3"));
  EXPECT_TRUE(grant(port(3, 302)));
  EXPECT_THAT(granted(), ElementsAre("100 stage-1", "200 stage-2", "301 stage-4", "302 stage-3"));
}

TEST_F(GrantorBlocksTest, AnItemWithAListenerDoesNotMove) {
  hand_a_block_on();
  has_listener(3, 300);
  const Result<> refused = grant(ports(3, {400, 410}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("former range 300-300"));
  EXPECT_THAT(granted(), Contains("300 stage-3"));
}

TEST_F(GrantorBlocksTest, WhatWasGivenInABlockCanBeTakenBack) {
  hand_a_block_on();
  must_grant(5, 302);
  const auto back = [&](const ledger::Grant& given, std::vector<ledger::Grant> before) {
    return run([&] { return grantor_.undo(context_, kDemo, given, before); });
  };
  EXPECT_TRUE(back(port(5, 302), {}));
  EXPECT_THAT(granted(), Not(Contains("302 stage-5")));
  EXPECT_TRUE(grant(ports(3, {400, 410})));
  EXPECT_TRUE(back(ports(3, {400, 410}), {port(3, 300)}));
  EXPECT_THAT(granted(), ElementsAre("100 stage-1", "200 stage-2", "300 stage-3", "301 stage-4"));
}

// Our cache does not show what was written to the block last.
TEST_F(GrantorBlocksTest, WhatIsTakenBackFromABlockThatSomebodyWroteToIsTriedAgain) {
  hand_a_block_on();
  must_grant(5, 302);
  is_watching_ = false;
  wire::Array grants = *wire::array_at(api_.all(kBlocks).front(), "/spec/grants");
  grants.push_back(api::encode(to_api(port(6, 303))));
  api_.edit(kBlocks, {"", block().meta.name},
            wire::Object{{"spec", wire::Object{{"grants", std::move(grants)}}}});
  const Result<> back = run([&] { return grantor_.undo(context_, kDemo, port(5, 302), {}); });
  EXPECT_TRUE(back) << back.error().to_string();
  EXPECT_THAT(granted(), ElementsAre("100 stage-1", "200 stage-2", "300 stage-3", "301 stage-4",
                                     "303 stage-6"));
}

TEST_F(GrantorBlocksTest, BlocksThatAreLostTogetherCostOneList) {
  hand_a_block_on();
  must_grant(5, 400);
  must_grant(6, 500);
  for (const auto& [owner, port] : {std::pair(3, 300), {5, 400}, {6, 500}})
    has_listener(owner, static_cast<model::Port>(port));
  for (const wire::Value& one : api_.all(kBlocks))
    api_.erase(kBlocks, {"", std::string(wire::string_at(one, "/metadata/name"))});
  api_.forget_calls();
  EXPECT_TRUE(tidy());
  EXPECT_THAT(granted(), ElementsAre("100 stage-1", "200 stage-2", "300 stage-3", "400 stage-5",
                                     "500 stage-6"));
  EXPECT_EQ(std::ranges::count(api_.calls(), "GET listeners"), 1);
  EXPECT_EQ(std::ranges::count(api_.calls(), "PATCH loadbalancers/" + kName), 1);
}

TEST_F(GrantorBlocksTest, ALostBlockIsRebuiltFromListenersBeforeAnythingIsGranted) {
  hand_a_block_on();
  has_listener(3, 300);
  is_watching_ = false;  // the last one is known to the API server alone
  has_listener(4, 301);
  is_watching_ = true;
  api_.erase(kBlocks, {"", block().meta.name});
  const Result<> refused = grant(port(9, 301));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("Stage games/stage-4"));
  must_grant(9, 302);
  EXPECT_THAT(granted(), ElementsAre("100 stage-1", "200 stage-2", "300 stage-3", "301 stage-4",
                                     "302 stage-9"));
  EXPECT_THAT(api_.all(kBlocks), SizeIs(1));
}

TEST_F(GrantorBlocksTest, ALostBlockThatOurCacheStillHasIsFoundOutByTheWrite) {
  hand_a_block_on();
  has_listener(3, 300);
  is_watching_ = false;
  api_.erase(kBlocks, {"", block().meta.name});
  must_grant(9, 302);
  EXPECT_THAT(granted(), ElementsAre("100 stage-1", "200 stage-2", "300 stage-3", "302 stage-9"));
}

// Its owner and the controller of load balancers find out at one moment.
TEST_F(GrantorBlocksTest, ALostBlockThatTwoFindIsRebuiltOnce) {
  hand_a_block_on();
  has_listener(3, 300);
  const auto known = listeners_.all();
  api_.erase(kBlocks, {"", block().meta.name});
  // While one of them lists Listeners, the other is through.
  bool is_restored = false;
  api_.on({"GET", "listeners"},
          {.after = [&] { is_restored = grantor_.restore(context_, known).has_value(); }});
  EXPECT_TRUE(tidy());
  EXPECT_TRUE(is_restored);
  EXPECT_THAT(list(), ElementsAre("100 stage-1", "200 stage-2", "block 300-303"));
  EXPECT_THAT(granted(), ElementsAre("100 stage-1", "200 stage-2", "300 stage-3"));
}

// Somebody put a copy of it back: its uid is another, and what it says is his.
TEST_F(GrantorBlocksTest, ABlockOfAnotherUidDoesNotCount) {
  hand_a_block_on();
  has_listener(3, 300);
  const api::PortBlock known = block();
  api_.erase(kBlocks, {"", known.meta.name});
  api_.put(kBlocks, wire::Object{{"metadata", wire::Object{{"name", known.meta.name}}},
                                 {"spec", api::encode(known.spec)}});
  EXPECT_THAT(granted(), Not(Contains("301 stage-4")));
  EXPECT_TRUE(tidy());
  EXPECT_THAT(granted(), ElementsAre("100 stage-1", "200 stage-2", "300 stage-3"));
  EXPECT_THAT(api_.all(kBlocks), SizeIs(1));
}

// A write to a block tests the block, and not that the LoadBalancer object still names it.
TEST_F(GrantorBlocksTest, WhatIsWrittenToABlockThatNobodyNamesAnyMoreIsNoGrant) {
  hand_a_block_on();
  is_watching_ = false;
  // Somebody took the block out of the object, and another replica has given a port of it away.
  wire::Array grants;
  const wire::Value object = api_.all(kBalancers).front();
  for (const wire::Value& grant : *wire::array_at(object, "/spec/grants"))
    if (wire::string_at(grant, "/ownerKind") != ledger::kBlockOwner) grants.push_back(grant);
  grants.push_back(api::encode(to_api(port(9, 302))));
  api_.edit(kBalancers, {"", kName},
            wire::Object{{"spec", wire::Object{{"grants", std::move(grants)}}}});
  const Result<> late = grant(port(5, 302));
  ASSERT_FALSE(late) << "stage-9 has it";
  EXPECT_EQ(late.error().code, Code::conflict);
  EXPECT_THAT(late.error().to_string(), HasSubstr("stage-9"));
}

TEST_F(GrantorBlocksTest, NothingIsGrantedInALostBlockWhileListenersCannotBeListed) {
  hand_a_block_on();
  api_.erase(kBlocks, {"", block().meta.name});
  api_.on({"GET", "listeners"}, {.refused = 500});
  EXPECT_FALSE(grant(port(9, 302)));
  EXPECT_THAT(list(), ElementsAre("100 stage-1", "200 stage-2", "block 300-303"));
}

TEST_F(GrantorBlocksTest, AGrantThatSomebodyTookOutOfABlockIsRestored) {
  hand_a_block_on();
  has_listener(3, 300);
  api_.edit(kBlocks, {"", block().meta.name},
            wire::Object{{"spec", wire::Object{{"grants", wire::Array{}}}}});
  const auto known = listeners_.all();
  EXPECT_TRUE(run([&] { return grantor_.restore(context_, known); }));
  EXPECT_THAT(granted(), ElementsAre("100 stage-1", "200 stage-2", "300 stage-3"));
  EXPECT_EQ(block().spec.grants.size(), 1U);
}

// A grant that lies outside of the block it is written in was written by somebody.
TEST_F(GrantorBlocksTest, ABlockSpeaksOfItsOwnPortsAlone) {
  hand_a_block_on();
  const wire::Array grants{api::encode(to_api(port(8, 900)))};
  api_.edit(kBlocks, {"", block().meta.name},
            wire::Object{{"spec", wire::Object{{"grants", grants}}}});
  EXPECT_THAT(granted(), ElementsAre("100 stage-1", "200 stage-2"));
}

// All that come while the first is served.
class BlocksInABatchTest : public GrantorBlocksTest {
 protected:
  void ask(const ledger::Grant& wanted) {
    const std::size_t i = answers_.size();
    answers_.emplace_back();
    tasks_.push_back(kernel_.world().spawn("asks", [this, wanted, i](std::stop_token) {
      answers_[i] = grantor_.grant(context_, kDemo, wanted);
    }));
  }
  void wait() {
    ASSERT_TRUE(kernel_.run_until([&] {
      return std::ranges::all_of(answers_, [](const auto& answer) { return answer.has_value(); });
    }));
  }
  // The first one's write takes a moment, in which the others come.
  void ask_first(int owner, model::Port first) {
    api_.on({"PATCH", "portblocks"}, {.late = 10ms});
    ask(port(owner, first));
  }

  std::deque<std::optional<Result<>>> answers_;
  std::vector<std::unique_ptr<Task>> tasks_;
};

TEST_F(BlocksInABatchTest, ABlockThatCannotBeCalledInConcernsWhoNeedsIt) {
  hand_a_block_on();
  ask_first(5, 302);
  ask(ports(9, {303, 310}));  // across the edge of the block
  ask(port(7, 400));
  api_.on({"PATCH", "portblocks"}, {.refused = 403});
  wait();
  EXPECT_TRUE(*answers_[0]);
  ASSERT_FALSE(*answers_[1]);
  EXPECT_TRUE(*answers_[2]) << answers_[2]->error().to_string();
  EXPECT_THAT(granted(), ::testing::IsSupersetOf({"302 stage-5", "400 stage-7"}));
}

TEST_F(BlocksInABatchTest, ABlockThatCannotBeMadeConcernsWhoNeedsIt) {
  hand_a_block_on();
  ask_first(5, 302);
  ask(port(6, 400));  // in a block that there is not
  ask(port(7, 303));
  api_.on({"POST", "portblocks"}, {.refused = 403});
  wait();
  ASSERT_FALSE(*answers_[1]);
  EXPECT_THAT(answers_[1]->error().to_string(), HasSubstr("no PortBlock can be made"));
  EXPECT_TRUE(*answers_[2]) << answers_[2]->error().to_string();
}

TEST_F(BlocksInABatchTest, AFullLoadBalancerRefusesTheBlockThatIsOneTooMany) {
  hand_a_block_on();
  const std::size_t free = api::kMaxGrants - list().size();
  wire::Array grants = *wire::array_at(api_.all(kBalancers).front(), "/spec/grants");
  for (std::size_t i = 1; i < free; ++i)
    grants.push_back(api::encode(
        to_api(port(static_cast<int>(1000 + i), static_cast<model::Port>(10'000 + 8 * i)))));
  api_.edit(kBalancers, {"", kName},
            wire::Object{{"spec", wire::Object{{"grants", std::move(grants)}}}});
  ask_first(5, 302);
  ask(port(6, 400));
  ask(port(7, 500));
  ask(port(8, 303));
  wait();
  EXPECT_TRUE(*answers_[1]) << "there is room for one more";
  ASSERT_FALSE(*answers_[2]);
  EXPECT_EQ(answers_[2]->error().code, Code::exhausted);
  EXPECT_TRUE(*answers_[3]);
  EXPECT_EQ(list().size(), api::kMaxGrants);
}

class ManyOwnersTest : public GrantorBlocksTest {
 protected:
  static constexpr int kMany = 10'000;
  ManyOwnersTest() : GrantorBlocksTest(ledger::Layout{}) {}
  void check_all_fit() {
    EXPECT_THAT(grantor_.grants(kDemo), SizeIs(kMany));
    EXPECT_LT(list().size(), 1024U);
    for (const wire::Value& object : api_.all(kBlocks))
      EXPECT_TRUE(api::check(api::decode_port_block(object)->spec, "spec").empty());
  }
};

TEST_F(ManyOwnersTest, TenThousandOwnersOfOnePortFit) {
  std::deque<std::optional<Result<>>> answers(kMany);
  std::vector<std::unique_ptr<Task>> tasks;
  // In crowds, as they come: what waits at one moment goes in one write for each block.
  constexpr int kCrowd = 500;
  for (int from = 0; from < kMany; from += kCrowd) {
    // The first write takes a moment, in which the others come.
    api_.on({from == 0 ? "POST" : "PATCH", ""}, {.late = 10ms});
    for (int i = from; i < from + kCrowd; ++i)
      tasks.push_back(kernel_.world().spawn("asks", [&, i](std::stop_token) {
        answers[static_cast<std::size_t>(i)] =
            grantor_.grant(context_, kDemo, port(i, static_cast<model::Port>(1000 + i)));
      }));
    ASSERT_TRUE(kernel_.run_until([&] {
      return std::ranges::all_of(answers.begin() + from, answers.begin() + from + kCrowd,
                                 [](const auto& answer) { return answer.has_value(); });
    }));
    tasks.clear();
  }
  for (const auto& answer : answers) ASSERT_TRUE(*answer) << answer->error().to_string();
  check_all_fit();
  EXPECT_LT(api_.writes().size(), 500U);
  const Result<> refused = grant(port(kMany, 1000));
  EXPECT_FALSE(refused);
}

TEST_F(ManyOwnersTest, ALostObjectIsRebuiltFromTenThousandListeners) {
  for (int i = 0; i < kMany; ++i) has_listener(i, static_cast<model::Port>(1000 + i));
  const Result<> refused = grant(port(kMany, 1000));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("Stage games/stage-0"));
  check_all_fit();
}

}  // namespace
}  // namespace berth::claims
