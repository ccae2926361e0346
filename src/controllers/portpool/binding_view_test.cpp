// What a reconcile sees of a Pod, from what its caches have.
#include "controllers/portpool/binding_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/portpool/test_support.h"

namespace berth::controllers::portpool {
namespace {

using namespace std::chrono_literals;
using claims::testing::foreign_at;
using claims::testing::lock_at;
using claims::testing::pool_with;
using claims::testing::tcp_item;
using claims::testing::with_claim;
using ::testing::ElementsAre;
using testing::entry;
using ::testing::IsEmpty;
using testing::kNow;
using testing::put;
using testing::Room;

class BindingViewTest : public ::testing::Test {
 protected:
  BindingViewTest() {
    claims::add_indexes(listeners_, {});
    add_pod_indexes(pods_);
  }
  // The caches have what there is of a room, the Pod included.
  void have(const Room& room) {
    for (const auto& [name, listener] : room.listeners) have(listener);
    if (room.pod) have(*room.pod);
  }
  void have(api::Listener listener) {
    listener.meta.resource_version = ++version_;
    listeners_.put(std::move(listener));
  }
  void have(kube::Pod pod) {
    pod.meta.resource_version = ++version_;
    pods_.put(std::move(pod));
  }
  void have(api::PortPool pool) {
    pool.meta.resource_version = ++version_;
    pools_.put(std::move(pool));
  }
  void edit_lock(std::string_view annotation, std::string text) {
    api::Listener lock = *listeners_.get({"games", "demo-tcp-30000"});
    put(lock.meta.annotations, annotation, std::move(text));
    have(lock);
  }
  // Another Pod that was told of the same port and is ready there.
  static kube::Pod rival(const Room& room) {
    kube::Pod pod = room.new_pod("uid-2", ledger::make_token(kNow, 2, 2));
    pod.meta.name = "room-1";
    pod.conditions = {{kube::Interned(api::kPortsReadyCondition), kube::ConditionStatus::yes}};
    return pod;
  }

  BindingView view(const kube::ObjectKey& key = {"games", "room-0"}) {
    return view_binding(
        key, {pools_, listeners_, balancers_, blocks_, bindings_, pods_}, sealer_,
        {.now = kNow,
         .quarantine = 10s,
         .max_keep = 1h,
         .age_of = [this](const api::Listener& lock) { return ages_[lock.meta.name]; }});
  }
  static std::vector<std::string> names(const std::vector<HeldSlot>& slots) {
    std::vector<std::string> out;
    for (const HeldSlot& slot : slots) out.push_back(slot.lock->meta.name);
    return out;
  }

  kube::Store<api::PortPool> pools_;
  claims::ListenerStore listeners_;
  kube::Store<api::LoadBalancer> balancers_;
  kube::Store<api::PortBlock> blocks_;
  kube::Store<api::PortBinding> bindings_;
  kube::Store<kube::Pod> pods_;
  std::map<std::string, Duration> ages_;
  std::shared_ptr<const crypto::KeyRing> ring_ = claims::testing::sealer().ring();
  const claims::Sealer sealer_{[this] { return ring_; }};
  kube::ResourceVersion version_ = 0;
};

TEST_F(BindingViewTest, OfAPodThatWasAdmittedHasItsSlotsByItsToken) {
  have(Room({entry(30001), entry(30000)}));
  ages_["demo-tcp-30000"] = 7s;
  const BindingView seen = view();
  ASSERT_TRUE(seen.pod);
  EXPECT_THAT(names(seen.slots), ElementsAre("demo-tcp-30000", "demo-tcp-30001"));
  EXPECT_EQ(seen.slots[0].claim.token, Room::kToken);
  EXPECT_EQ(seen.slots[0].claim.entry, 1);
  EXPECT_EQ(seen.slots[0].seen_for, 7s);
  EXPECT_EQ(seen.told.size(), 2u);
  EXPECT_EQ(seen.proof.verdict, crypto::SealVerdict::good);
  EXPECT_THAT(seen.lost, IsEmpty());
  EXPECT_FALSE(seen.misses_lock || seen.is_foreign || seen.is_unreadable || seen.is_in_doubt);
  EXPECT_EQ(seen.now, kNow);
  EXPECT_EQ(seen.quarantine, 10s);
  EXPECT_EQ(seen.max_keep, 1h);
  EXPECT_FALSE(seen.server_uid);
}

TEST_F(BindingViewTest, HasASlotOnceWhoseClaimNamesThePodAndItsToken) {
  Room room;
  ledger::Claim claim = room.claim();
  claim.pod_name = "room-0";
  room.set_claim(claim);
  have(room);
  EXPECT_THAT(names(view().slots), ElementsAre("demo-tcp-30000"));
}

TEST_F(BindingViewTest, OfAPodThatIsGoneHasWhatItsNameHolds) {
  Room room;
  room.set_claim(ledger::bound_to(room.claim(), "room-0", "uid-1", kNow));
  room.pod.reset();
  have(room);
  const BindingView seen = view();
  EXPECT_FALSE(seen.pod);
  EXPECT_THAT(names(seen.slots), ElementsAre("demo-tcp-30000"));
  EXPECT_THAT(seen.told, IsEmpty());
  EXPECT_THAT(seen.lost, IsEmpty());
}

TEST_F(BindingViewTest, ATokenThatAPodOfAnotherNamespaceCarriesIsNoClaimOfIt) {
  const Room room;
  have(room);
  kube::Pod copy = *room.pod;
  copy.meta.ns = kube::Interned("evil");
  have(copy);
  EXPECT_THAT(view({"evil", "room-0"}).slots, IsEmpty());
}

TEST_F(BindingViewTest, HasThePeersThatAreThere) {
  Room room({entry(30000, {"east", "west", "south"})});
  room.listeners.erase("south-tcp-30000");
  have(room);
  const BindingView seen = view();
  ASSERT_THAT(names(seen.slots), ElementsAre("east-tcp-30000"));
  ASSERT_EQ(seen.slots[0].peers.size(), 1u);
  EXPECT_EQ(seen.slots[0].peers[0]->meta.name, "west-tcp-30000");
}

TEST_F(BindingViewTest, ALockThatSomebodyChangedIsLeftToAPoolThatWantsIt) {
  have(Room());
  edit_lock(claims::kSealAnnotation, "edited");
  EXPECT_FALSE(view().slots[0].is_changed) << "there is no pool";
  have(pool_with({tcp_item("item1", 30000, 30010)}));
  EXPECT_TRUE(view().slots[0].is_changed);
  have(pool_with({tcp_item("item2", 30000, 30010)}));
  EXPECT_FALSE(view().slots[0].is_changed) << "its item has left";
  api::PortPool leaving = pool_with({tcp_item("item1", 30000, 30010)});
  leaving.meta.deleting = true;
  have(leaving);
  EXPECT_FALSE(view().slots[0].is_changed) << "the pool goes";
}

TEST_F(BindingViewTest, ALockAsWeMadeItIsNotChanged) {
  have(Room({entry(30000, {"east", "west"})}));
  have(pool_with({tcp_item("item1", 30000, 30010)}));
  EXPECT_FALSE(view().slots[0].is_changed);
}

TEST_F(BindingViewTest, APortOnWhichAnotherPodIsReadyIsContested) {
  const Room room;
  have(room);
  EXPECT_FALSE(view().slots[0].is_contested);
  have(rival(room));
  EXPECT_TRUE(view().slots[0].is_contested);
  EXPECT_THAT(view({"games", "room-1"}).slots, IsEmpty()) << "whose it is, the claim says";
}

TEST_F(BindingViewTest, APodThatIsNotReadyContestsNothing) {
  const Room room;
  have(room);
  kube::Pod other = rival(room);
  other.conditions = {};
  have(other);
  EXPECT_FALSE(view().slots[0].is_contested);
  other = rival(room);
  other.phase = kube::PodPhase::failed;
  have(other);
  EXPECT_FALSE(view().slots[0].is_contested);
}

TEST_F(BindingViewTest, WhatSomebodyWroteOnAPodContestsNothing) {
  const Room room;
  have(room);
  kube::Pod other = rival(room);
  put(other.meta.annotations, claims::kPortsSealAnnotation, "request:forged");
  have(other);
  EXPECT_FALSE(view().slots[0].is_contested);
  put(other.meta.annotations, claims::kPortsSealAnnotation, "");
  have(other);
  EXPECT_FALSE(view().slots[0].is_contested);
  ring_ = nullptr;
  EXPECT_TRUE(view().slots[0].is_contested) << "without keys nothing can be judged";
}

TEST_F(BindingViewTest, WhatThePodWasToldAndDoesNotHoldIsLost) {
  Room room({entry(30000), entry(30001), entry(30002)});
  room.set_claim("", "demo-tcp-30001");
  room.listeners.erase("demo-tcp-30002");
  have(room);
  const BindingView seen = view();
  EXPECT_THAT(names(seen.slots), ElementsAre("demo-tcp-30000"));
  EXPECT_THAT(names(seen.lost), ElementsAre("demo-tcp-30001"));
  EXPECT_TRUE(seen.misses_lock);
  EXPECT_FALSE(seen.is_foreign);
}

TEST_F(BindingViewTest, APodThatHasEndedMissesNothing) {
  Room room({entry(30000), entry(30001)});
  room.set_claim("", "demo-tcp-30000");
  room.listeners.erase("demo-tcp-30001");
  room.pod->phase = kube::PodPhase::succeeded;
  have(room);
  EXPECT_THAT(view().lost, IsEmpty());
  EXPECT_FALSE(view().misses_lock);
}

TEST_F(BindingViewTest, AClaimThatCannotBeReadIsSaid) {
  Room room;
  room.set_claim(R"({"v":99,"state":"Bound"})");
  have(room);
  const BindingView seen = view();
  EXPECT_TRUE(seen.is_unreadable);
  EXPECT_THAT(seen.slots, IsEmpty());
  EXPECT_THAT(names(seen.lost), ElementsAre("demo-tcp-30000"));
}

TEST_F(BindingViewTest, APodOfAnotherControllerIsForeign) {
  Room room;
  room.listeners["demo-tcp-30000"] = foreign_at({});
  room.pod->meta.labels = {};
  have(room);
  EXPECT_TRUE(view().is_foreign);
  EXPECT_THAT(view().lost, IsEmpty()) << "its Listener is not ours to give";
}

TEST_F(BindingViewTest, WhatWeAdmittedIsOursWhateverBecomesOfItsListeners) {
  Room room;
  room.listeners["demo-tcp-30000"] = foreign_at({});
  have(room);
  EXPECT_FALSE(view().is_foreign) << "it has its token";

  Room two({entry(30000), entry(30001)});
  two.listeners["demo-tcp-30000"] = foreign_at({});
  two.set_claim(ledger::bound_to(two.claim("demo-tcp-30001"), "room-0", "uid-1", kNow),
                "demo-tcp-30001");
  two.pod->meta.labels = {};
  have(two);
  EXPECT_FALSE(view().is_foreign) << "it has a claim";
}

TEST_F(BindingViewTest, HasItsPortBindingAndKnowsItsPools) {
  have(Room());
  EXPECT_FALSE(view().binding);
  api::PortBinding binding;
  binding.meta = {.ns = kube::Interned("games"), .name = "room-0", .resource_version = 1};
  bindings_.put(std::move(binding));
  have(pool_with({}));
  const BindingView seen = view();
  EXPECT_TRUE(seen.binding);
  EXPECT_TRUE(seen.pool_of({"games", "rooms"}));
  EXPECT_FALSE(seen.pool_of({"games", "halls"}));
}

}  // namespace
}  // namespace berth::controllers::portpool
