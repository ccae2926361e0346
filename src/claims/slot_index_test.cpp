#include "claims/slot_index.h"

#include <gtest/gtest.h>

#include "claims/test_support.h"

namespace berth::claims {
namespace {

using ledger::SlotState;
using model::PortRange;
using model::Protocol;
using testing::leading_to;
using testing::lock_at;
using testing::peer_at;
using testing::Place;
using testing::pool_with;
using testing::tcp_item;
using testing::with_claim;

const std::vector<Protocol> kTcp{Protocol::tcp};
const std::vector<Protocol> kUdp{Protocol::udp};
const std::vector<Protocol> kBoth{Protocol::tcp, Protocol::udp};
const kube::ObjectKey kRooms{"games", "rooms"};

// The caches of a replica, with the index on them.
class Replica {
 public:
  Replica() {
    add_indexes(listeners_, {});
    index_.on_room([this](const kube::ObjectKey& pool) { room_in.push_back(pool.name); });
  }

  void put(api::Listener listener) {
    listener.meta.resource_version = ++version_;
    listeners_.put(std::move(listener));
  }
  void erase(const api::Listener& listener) {
    listeners_.erase(listener.meta.key(), "", ++version_);
  }
  // With a change of its spec, as users make them.
  void put(api::PortPool pool) {
    pool.meta.generation = static_cast<std::int64_t>(version_) + 1;
    put_as_it_is(std::move(pool));
  }
  void put_as_it_is(api::PortPool pool) {
    pool.meta.resource_version = ++version_;
    pools_.put(std::move(pool));
  }
  void erase_pool() { pools_.erase(kRooms, "", ++version_); }

  // Makes what the pool needs, free, on every load balancer of each item.
  void fill(const api::PortPool& pool) {
    for (const api::PortPoolItem& item : pool.spec.pool_items) {
      const auto lbs = api::load_balancers_of(item, {}).value();
      const auto protocols = api::protocols_of(item).value();
      for (std::int64_t slot = 0; slot < api::slot_count(item); ++slot)
        for (const Protocol protocol : protocols)
          for (const auto& lb : lbs) {
            const Place place{item.item_name, lb.id, protocol, api::slot_ports(item, slot)};
            put(lb == lbs.front() ? lock_at(place) : peer_at(place));
          }
    }
  }
  void open(const api::PortPool& pool) {
    put(pool);
    fill(pool);
    room_in.clear();
  }

  std::optional<SlotChoice> choose(std::vector<Protocol> protocols, std::string item = "",
                                   std::uint32_t start = 0) const {
    return index_.choose({kRooms, std::move(item), std::move(protocols)}, start);
  }
  // The first port of the choice; 0 when there is none.
  int port(std::vector<Protocol> protocols, std::string item = "", std::uint32_t start = 0) const {
    const auto choice = choose(std::move(protocols), std::move(item), start);
    return choice ? choice->ports.first : 0;
  }
  std::optional<SlotChoice> reserve(const SlotRequest& request) {
    return index_.reserve(request, 0);
  }
  void settle(const SlotChoice& choice) { index_.settle(kRooms, choice); }
  void settle_all() { index_.settle_all(kRooms); }
  ledger::SlotUsage usage(std::size_t nth = 0) const { return index_.usage_of(kRooms)[nth].usage; }
  const SlotIndex& index() const { return index_; }

  void refresh() { index_.refresh(); }

  bool has_keys = true;
  std::vector<std::string> room_in;  // names of pools, as they were heard

 private:
  ListenerStore listeners_;
  PoolStore pools_;
  SlotIndex index_{listeners_, pools_, [this](const api::Listener& listener) {
                     return has_keys && testing::sealer().judge(listener) == Trust::ours;
                   }};
  kube::ResourceVersion version_ = 0;
};

ledger::Claim claim_in(SlotState state) {
  return {.state = state, .token = "t", .ns = "games", .pod_name = "room-0"};
}
Place at(model::Port port) { return {.ports = {port, port}}; }

TEST(SlotIndex, APoolThatIsNotKnownGivesNothing) {
  const Replica replica;
  EXPECT_FALSE(replica.choose(kTcp));
  EXPECT_TRUE(replica.index().usage_of(kRooms).empty());
}

TEST(SlotIndex, GivesTheLowestFreePortFromTheStartOn) {
  Replica replica;
  replica.open(pool_with({tcp_item("item1", 30000, 30003)}));
  EXPECT_EQ(replica.port(kTcp), 30000);
  EXPECT_EQ(replica.port(kTcp, "", 2), 30002) << "another replica begins elsewhere";
  replica.put(with_claim(lock_at(at(30002)), claim_in(SlotState::claimed)));
  EXPECT_EQ(replica.port(kTcp, "", 2), 30000) << "round the end";
  EXPECT_EQ(replica.choose(kTcp)->locks,
            (std::vector<kube::ObjectKey>{{"games", "demo-tcp-30000"}}));
}

TEST(SlotIndex, InWhicheverOrderPoolAndListenersAreSeen) {
  Replica replica;
  const api::PortPool pool = pool_with({tcp_item("item1", 30000, 30002)});
  replica.fill(pool);
  EXPECT_FALSE(replica.choose(kTcp));
  replica.put(pool);
  EXPECT_EQ(replica.usage().free, 2u);
}

TEST(SlotIndex, ASlotIsGivenOnlyWhenItsLoadBalancerHasItAndLeadsNowhere) {
  api::Listener not_made = lock_at(at(30000));
  not_made.status.listener_id.clear();
  api::Listener not_confirmed = lock_at(at(30000));
  testing::put(not_confirmed.meta.annotations, kAppliedAnnotation, "");
  api::Listener removed = lock_at(at(30000));
  removed.meta.deleting = true;
  api::Listener no_lock = peer_at(at(30000));
  const std::pair<std::string_view, api::Listener> cases[] = {
      {"the load balancer does not have it yet", not_made},
      {"nobody has confirmed that it leads nowhere", not_confirmed},
      {"it is being removed", removed},
      {"it leads to a Pod", testing::applied(leading_to(lock_at(at(30000)), "10.0.0.1"))},
      {"somebody took the annotation off", no_lock},
      {"its claim cannot be read", with_claim(lock_at(at(30000)), "scribble")}};
  for (const auto& [why, listener] : cases) {
    Replica replica;
    replica.open(pool_with({tcp_item("item1", 30000, 30001)}));
    ASSERT_EQ(replica.port(kTcp), 30000);
    replica.put(listener);
    EXPECT_FALSE(replica.choose(kTcp)) << why;
    EXPECT_EQ(replica.usage().free, 0u) << why;
    replica.put(lock_at(at(30000)));
    EXPECT_EQ(replica.port(kTcp), 30000) << why << ", and is over";
  }
}

TEST(SlotIndex, ASlotIsGivenAgainOnlyWhenItsClaimIsGoneAltogether) {
  Replica replica;
  replica.open(pool_with({tcp_item("item1", 30000, 30001)}));
  for (const SlotState state : {SlotState::claimed, SlotState::bound, SlotState::draining,
                                SlotState::kept, SlotState::quarantined}) {
    replica.put(with_claim(lock_at(at(30000)), claim_in(state)));
    EXPECT_FALSE(replica.choose(kTcp)) << to_string(state);
    EXPECT_EQ(replica.usage().taken, 1u) << to_string(state);
  }
  EXPECT_TRUE(replica.room_in.empty());
  replica.put(lock_at(at(30000)));
  EXPECT_EQ(replica.port(kTcp), 30000);
  EXPECT_EQ(replica.room_in, std::vector<std::string>{"rooms"}) << "refused workloads hear of it";
}

TEST(SlotIndex, APinnedItemIsTheOnlyOneThatCounts) {
  Replica replica;
  replica.open(pool_with({tcp_item("item1", 30000, 30001), tcp_item("item2", 31000, 31001)}));
  EXPECT_EQ(replica.port(kTcp, "item2"), 31000);
  EXPECT_EQ(replica.choose(kTcp, "item2")->item, "item2");
  EXPECT_FALSE(replica.choose(kTcp, "item3"));
  replica.put(
      with_claim(lock_at({.item = "item2", .ports = {31000, 31000}}), claim_in(SlotState::bound)));
  EXPECT_FALSE(replica.choose(kTcp, "item2")) << "although item1 has one";
}

TEST(SlotIndex, ThePolicyPicksTheItem) {
  const std::pair<std::string_view, int> cases[] = {
      {"average", 31000}, {"default", 30000}, {"", 30000}, {"anything", 30000}};
  for (const auto& [policy, port] : cases) {
    Replica replica;
    api::PortPool pool =
        pool_with({tcp_item("item1", 30000, 30002), tcp_item("item2", 31000, 31003)});
    pool.spec.allocate_policy = policy;
    replica.open(pool);
    EXPECT_EQ(replica.port(kTcp), port) << policy;
  }
}

TEST(SlotIndex, BothProtocolsGetOnePortAndItsTwoLocks) {
  Replica replica;
  api::PortPoolItem item = tcp_item("item1", 30000, 30003);
  item.protocol = "";
  replica.open(pool_with({item}));
  Place udp = at(30000);
  udp.protocol = Protocol::udp;
  replica.put(with_claim(lock_at(udp), claim_in(SlotState::bound)));
  EXPECT_EQ(replica.port(kTcp), 30000);
  EXPECT_EQ(replica.port(kUdp), 30001);
  const auto both = replica.choose(kBoth);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->locks, (std::vector<kube::ObjectKey>{{"games", "demo-tcp-30001"},
                                                       {"games", "demo-udp-30001"}}));
}

TEST(SlotIndex, AnItemWithoutTheProtocolGivesNothing) {
  Replica replica;
  replica.open(pool_with({tcp_item("item1", 30000, 30003)}));
  EXPECT_FALSE(replica.choose(kUdp));
  EXPECT_FALSE(replica.choose(kBoth));
}

TEST(SlotIndex, SegmentsAreGivenWholeAndARemainderIsNot) {
  Replica replica;
  api::PortPoolItem item = tcp_item("item1", 30000, 30011);
  item.segment_length = 4;
  replica.open(pool_with({item}));
  EXPECT_EQ(replica.usage().slots, 2u);
  const auto second = replica.choose(kTcp, "", 1);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->ports, (PortRange{30004, 30007}));
  EXPECT_EQ(second->locks.front().name, "demo-tcp-30004-30007");
}

TEST(SlotIndex, ASlotNeedsEveryLoadBalancerOfItsItem) {
  Replica replica;
  api::PortPoolItem item = tcp_item("item1", 30000, 30001);
  item.load_balancer_ids = {"edge:east", "edge:west"};
  const Place east{.lb = "east"};
  const Place west{.lb = "west"};
  replica.put(pool_with({item}));
  replica.put(lock_at(east));
  EXPECT_FALSE(replica.choose(kTcp)) << "west does not have it";
  replica.put(testing::applied(leading_to(peer_at(west), "10.0.0.1")));
  EXPECT_FALSE(replica.choose(kTcp)) << "west leads to a Pod";
  replica.put(peer_at(west));
  ASSERT_TRUE(replica.choose(kTcp));
  EXPECT_EQ(replica.choose(kTcp)->locks.front().name, "east-tcp-30000") << "the first is the lock";
  replica.erase(peer_at(west));
  EXPECT_FALSE(replica.choose(kTcp));
}

TEST(SlotIndex, AListenerOnALoadBalancerThatTheItemDoesNotHaveDoesNotCount) {
  Replica replica;
  replica.put(pool_with({tcp_item("item1", 30000, 30001)}));
  replica.put(lock_at({.lb = "elsewhere"}));
  EXPECT_FALSE(replica.choose(kTcp));
}

TEST(SlotIndex, WhatANameMeansOnlySealedListenersSay) {
  Replica replica;
  api::PortPoolItem item = tcp_item("item1", 30000, 30001);
  item.load_balancer_ids = {"my-clb"};
  replica.put(pool_with({item}));
  api::Listener forged = lock_at({.lb = "evil"});
  testing::put(forged.meta.annotations, kFoundByAnnotation, "my-clb");
  replica.put(forged);
  EXPECT_FALSE(replica.choose(kTcp)) << "somebody wrote the name on it";
  api::Listener ours = lock_at({});
  testing::put(ours.meta.annotations, kFoundByAnnotation, "my-clb");
  replica.put(testing::sealed(std::move(ours)));
  ASSERT_TRUE(replica.choose(kTcp));
  EXPECT_EQ(replica.choose(kTcp)->locks,
            (std::vector<kube::ObjectKey>{{"games", "demo-tcp-30000"}}));
}

// Another replica made new keys and sealed all anew; this one hears of the keys later.
TEST(SlotIndex, ListenersOfANameAreJudgedAgainWhenKeysCome) {
  Replica replica;
  replica.has_keys = false;
  api::PortPoolItem item = tcp_item("item1", 30000, 30001);
  item.load_balancer_ids = {"my-clb"};
  replica.put(pool_with({item}));
  api::Listener ours = lock_at({});
  testing::put(ours.meta.annotations, kFoundByAnnotation, "my-clb");
  replica.put(testing::sealed(std::move(ours)));
  EXPECT_FALSE(replica.choose(kTcp));
  replica.has_keys = true;
  replica.refresh();
  EXPECT_TRUE(replica.choose(kTcp));
  EXPECT_EQ(replica.room_in, std::vector<std::string>{"rooms"}) << "who was refused is told";
}

TEST(SlotIndex, AnItemThatGrowsKeepsWhatIsTaken) {
  Replica replica;
  replica.open(pool_with({tcp_item("item1", 30000, 30001)}));
  replica.put(with_claim(lock_at(at(30000)), claim_in(SlotState::bound)));
  const api::PortPool grown = pool_with({tcp_item("item1", 30000, 30003)});
  replica.put(grown);
  EXPECT_FALSE(replica.choose(kTcp)) << "its listeners are still to be made";
  EXPECT_EQ(replica.usage().slots, 3u);
  EXPECT_EQ(replica.usage().taken, 1u);
  replica.put(lock_at(at(30002)));
  EXPECT_EQ(replica.port(kTcp), 30002);
}

TEST(SlotIndex, NewRoomInAnItemThatCameIsHeardOf) {
  Replica replica;
  const api::PortPool grown =
      pool_with({tcp_item("item1", 30000, 30001), tcp_item("item2", 31000, 31001)});
  replica.open(pool_with({tcp_item("item1", 30000, 30001)}));
  replica.fill(grown);
  EXPECT_TRUE(replica.room_in.empty()) << "the pool has no such item yet";
  replica.put(grown);
  EXPECT_EQ(replica.room_in, std::vector<std::string>{"rooms"});
}

TEST(SlotIndex, NothingIsGivenFromAnItemThatLeftThePool) {
  Replica replica;
  replica.open(pool_with({tcp_item("item1", 30000, 30001), tcp_item("item2", 31000, 31001)}));
  replica.put(pool_with({tcp_item("item2", 31000, 31001)}));
  EXPECT_EQ(replica.port(kTcp), 31000);
  EXPECT_FALSE(replica.choose(kTcp, "item1")) << "its listeners are there for a while";
}

TEST(SlotIndex, NothingIsGivenFromAPoolThatGoes) {
  Replica replica;
  api::PortPool pool = pool_with({tcp_item("item1", 30000, 30001)});
  replica.open(pool);
  pool.meta.deleting = true;
  replica.put_as_it_is(pool);
  EXPECT_FALSE(replica.choose(kTcp));
  replica.erase_pool();
  EXPECT_FALSE(replica.choose(kTcp));
  pool.meta.deleting = false;
  pool.meta.uid = "uid-of-the-next";
  replica.put_as_it_is(pool);
  EXPECT_EQ(replica.port(kTcp), 30000) << "one that comes under its name finds what is left";
}

TEST(SlotIndex, WhatThePoolsStatusSaysChangesNothing) {
  Replica replica;
  api::PortPool pool = pool_with({tcp_item("item1", 30000, 30001)});
  replica.put_as_it_is(pool);
  replica.fill(pool);
  replica.room_in.clear();
  pool.status.status = "Ready";
  replica.put_as_it_is(pool);
  EXPECT_EQ(replica.port(kTcp), 30000);
  EXPECT_TRUE(replica.room_in.empty());
}

TEST(SlotIndex, AnItemThatCannotBeReadDoesNotHideTheOthers) {
  Replica replica;
  api::PortPoolItem broken = tcp_item("broken", 29000, 29001);
  broken.load_balancer_ids = {"edge:"};
  const api::PortPool pool = pool_with({broken, tcp_item("item1", 30000, 30001)});
  replica.put(pool);
  replica.put(lock_at(at(30000)));
  EXPECT_EQ(replica.port(kTcp), 30000);
}

TEST(SlotIndex, CountsByItemAndProtocol) {
  Replica replica;
  api::PortPoolItem both = tcp_item("item1", 30000, 30002);
  both.protocol = "";
  replica.open(pool_with({both, tcp_item("item2", 31000, 31005)}));
  replica.put(with_claim(lock_at(at(30001)), claim_in(SlotState::bound)));
  const std::vector<ItemUsage> usage = replica.index().usage_of(kRooms);
  ASSERT_EQ(usage.size(), 3u);
  EXPECT_EQ(usage[0].usage.free, 1u);
  EXPECT_EQ(usage[0].usage.ready, 2u);
  EXPECT_EQ(usage[1].protocol, Protocol::udp);
  EXPECT_EQ(usage[1].usage.free, 2u);
  EXPECT_EQ(usage[2].item, "item2");
  EXPECT_EQ(usage[2].usage.free, 5u);
  EXPECT_EQ(replica.index().usage().size(), 3u);
}

TEST(SlotIndex, AReservedSlotIsNotChosenUntilItIsSettled) {
  Replica replica;
  replica.open(pool_with({tcp_item("item1", 30000, 30002)}));
  const SlotRequest request{kRooms, "", kTcp};
  const auto first = replica.reserve(request);
  const auto second = replica.reserve(request);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->ports.first, 30000);
  EXPECT_EQ(second->ports.first, 30001);
  EXPECT_FALSE(replica.reserve(request));

  // The first attempt failed, the second one got its slot.
  replica.put(with_claim(lock_at({.ports = second->ports}), "{}"));
  replica.settle(*first);
  replica.settle(*second);
  EXPECT_EQ(replica.port(kTcp), 30000);
  EXPECT_EQ(replica.usage().free, 1u);
}

TEST(SlotIndex, WhatIsOnlyReservedIsNotSaidToBeInUse) {
  Replica replica;
  replica.open(pool_with({tcp_item("item1", 30000, 30001)}));
  ASSERT_TRUE(replica.reserve({kRooms, "", kTcp}));
  replica.settle_all();
  EXPECT_EQ(replica.port(kTcp), 30000);
}

TEST(SlotIndex, PortsWithTlsAreGivenToThoseWhoAskForThem) {
  api::PortPoolItem tls = tcp_item("tls", 30010, 30012);
  tls.protocol = "TCP_SSL";
  Replica replica;
  replica.open(pool_with({tcp_item("plain", 30000, 30001), tls}));
  EXPECT_EQ(replica.port(kTcp), 30000);
  const auto choice = replica.choose({Protocol::tls});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->item, "tls");
  EXPECT_EQ(choice->locks.front().name, "demo-tcpssl-30010");
  EXPECT_EQ(replica.port(kTcp, "tls"), 0);
  EXPECT_EQ(replica.index().usage_of(kRooms)[1].protocol, Protocol::tls);
}

}  // namespace
}  // namespace berth::claims
