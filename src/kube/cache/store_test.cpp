#include "kube/cache/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "base/threads.h"

namespace berth::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct Thing {
  ObjectMeta meta{};
  std::string node{};
};

Thing thing(std::string name, ResourceVersion version, std::string uid = "u1",
            std::string node = {}) {
  Thing out;
  out.meta.ns = Interned("games");
  out.meta.name = std::move(name);
  out.meta.uid = std::move(uid);
  out.meta.resource_version = version;
  out.node = std::move(node);
  return out;
}

ObjectKey key(std::string name) { return {"games", std::move(name)}; }

std::string side(const std::shared_ptr<const Thing>& object) {
  if (!object) return "-";
  return fmt::format("{}/{}@{}", object->meta.name, object->meta.uid,
                     object->meta.resource_version);
}

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    store.on_change([this](const Change<Thing>& change) {
      changes.push_back(side(change.before) + " > " + side(change.after) +
                        (change.initial ? " initial" : ""));
    });
    store.add_index("node", [](const Thing& object, EmitKey emit) {
      if (!object.node.empty()) emit(object.node);
    });
  }
  void sync(std::vector<Thing> list, ResourceVersion at) {
    ASSERT_TRUE(store.replace(std::move(list), at));
    changes.clear();
  }
  std::vector<std::string> on_node(std::string_view node) const {
    std::vector<std::string> names;
    for (const auto& object : store.by_index("node", node)) names.push_back(object->meta.name);
    return names;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& object : store.all()) all.push_back(object->meta.name);
    return all;
  }

  Store<Thing> store;
  std::vector<std::string> changes;
};

TEST_F(StoreTest, TellsTheFirstListAsInitialAndThenIsSynced) {
  EXPECT_FALSE(store.synced());
  ASSERT_TRUE(store.replace({thing("a", 3), thing("b", 4)}, 10));
  EXPECT_THAT(changes, ElementsAre("- > a/u1@3 initial", "- > b/u1@4 initial"));
  EXPECT_TRUE(store.synced());
  EXPECT_EQ(store.seen(), 10u);
  EXPECT_EQ(store.size(), 2u);
}

TEST_F(StoreTest, HandlersAreDoneBeforeSyncedTurnsTrue) {
  bool synced_in_handler = false;
  store.on_change([&](const Change<Thing>&) { synced_in_handler |= store.synced(); });
  sync({thing("a", 3)}, 10);
  EXPECT_FALSE(synced_in_handler);
  EXPECT_TRUE(store.synced());
}

TEST_F(StoreTest, AnOlderVersionNeverReplacesANewerOne) {
  sync({thing("a", 5)}, 10);
  EXPECT_TRUE(store.put(thing("a", 12)));
  EXPECT_FALSE(store.put(thing("a", 11)));
  EXPECT_FALSE(store.put(thing("a", 12)));
  EXPECT_EQ(store.get(key("a"))->meta.resource_version, 12u);
  EXPECT_THAT(changes, ElementsAre("a/u1@5 > a/u1@12"));
}

TEST_F(StoreTest, WhatGetReturnedStaysAsItIs) {
  sync({thing("a", 5)}, 10);
  const auto old = store.get(key("a"));
  store.put(thing("a", 12));
  EXPECT_EQ(old->meta.resource_version, 5u);
}

TEST_F(StoreTest, ANewUidIsADeletionThenAnAddition) {
  sync({thing("a", 5, "old")}, 10);
  store.put(thing("a", 12, "new"));
  EXPECT_THAT(changes, ElementsAre("a/old@5 > -", "- > a/new@12"));
}

TEST_F(StoreTest, ALateAnswerToOurWriteDoesNotBringADeletedObjectBack) {
  sync({thing("a", 5)}, 10);
  store.erase(key("a"), "u1", 14);  // the watch event ...
  store.advance(14);
  EXPECT_FALSE(store.put(thing("a", 12)));  // ... overtook the answer
  EXPECT_EQ(store.get(key("a")), nullptr);
}

TEST_F(StoreTest, NeitherBeforeTheVersionOfTheDeletionHasBeenSeen) {
  sync({thing("a", 5)}, 10);
  store.erase(key("a"), "u1", 14);
  EXPECT_FALSE(store.put(thing("a", 12)));
  EXPECT_TRUE(store.put(thing("a", 15, "u2"))) << "made anew after the deletion";
}

TEST_F(StoreTest, AnObjectMadeAndDeletedBetweenTwoListsStaysAway) {
  sync({}, 10);
  ASSERT_TRUE(store.replace({}, 20));
  EXPECT_FALSE(store.put(thing("a", 15)));
  EXPECT_EQ(store.size(), 0u);
}

TEST_F(StoreTest, OurWriteIsSeenBeforeTheWatchTellsIt) {
  sync({}, 10);
  EXPECT_TRUE(store.put(thing("a", 12)));
  EXPECT_EQ(store.seen(), 10u) << "what happened between 10 and 12 is not known yet";
  EXPECT_FALSE(store.put(thing("a", 12))) << "the watch event brings nothing new";
}

TEST_F(StoreTest, AListDeletesWhatItLacksAndUpdatesWhatChanged) {
  sync({thing("a", 3), thing("b", 4), thing("c", 5)}, 10);
  ASSERT_TRUE(store.replace({thing("a", 3), thing("b", 15)}, 20));
  EXPECT_THAT(changes, ElementsAre("b/u1@4 > b/u1@15", "c/u1@5 > -"));
}

TEST_F(StoreTest, AListDoesNotDeleteWhatWasWrittenAfterItsSnapshot) {
  sync({}, 10);
  store.begin_list();
  store.put(thing("mine", 25));
  ASSERT_TRUE(store.end_list(20));
  EXPECT_NE(store.get(key("mine")), nullptr);
}

TEST_F(StoreTest, AListThatIsGivenUpDeletesNothing) {
  sync({thing("a", 3), thing("b", 4)}, 10);
  store.begin_list();
  store.list_item(thing("a", 15));
  store.abandon_list();
  EXPECT_EQ(store.size(), 2u);
  EXPECT_EQ(store.seen(), 10u);
  ASSERT_TRUE(store.replace({thing("a", 15)}, 20));
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(StoreTest, AListedObjectThatCouldNotBeReadKeepsItsLastVersion) {
  sync({thing("a", 3), thing("b", 4)}, 10);
  store.begin_list();
  store.keep_listed(key("a"));
  ASSERT_TRUE(store.end_list(20));
  EXPECT_THAT(names(), ElementsAre("a"));
  store.begin_list();
  store.keep_unlisted();
  ASSERT_TRUE(store.end_list(30));
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(StoreTest, AServerRestoredFromABackupReplacesEverything) {
  sync({thing("a", 90), thing("b", 95)}, 100);
  const auto refused = store.replace({thing("a", 40)}, 50);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::expired);
  EXPECT_EQ(store.size(), 2u);
  ASSERT_TRUE(store.replace({thing("a", 40)}, 50));
  EXPECT_THAT(changes, ElementsAre("a/u1@90 > a/u1@40", "b/u1@95 > -"));
  EXPECT_EQ(store.seen(), 50u);
  EXPECT_TRUE(store.put(thing("a", 51)));
}

TEST_F(StoreTest, ErasingAnEarlierIncarnationLeavesTheLaterOne) {
  sync({thing("a", 5, "old")}, 10);
  store.put(thing("a", 15, "new"));
  EXPECT_FALSE(store.erase(key("a"), "old", 14));
  EXPECT_NE(store.get(key("a")), nullptr);
}

TEST_F(StoreTest, IndexesFollowTheObjects) {
  sync({thing("a", 1, "u1", "n1"), thing("b", 2, "u1", "n1"), thing("c", 3)}, 10);
  EXPECT_THAT(on_node("n1"), UnorderedElementsAre("a", "b"));
  store.put(thing("a", 11, "u1", "n2"));
  store.put(thing("c", 12, "u1", "n1"));
  EXPECT_THAT(on_node("n1"), UnorderedElementsAre("b", "c"));
  EXPECT_THAT(on_node("n2"), ElementsAre("a"));
  store.erase(key("b"), "", 13);
  EXPECT_THAT(on_node("n1"), ElementsAre("c"));
  EXPECT_THAT(on_node("n9"), IsEmpty());
}

TEST_F(StoreTest, AnIndexKeyMayHaveThousandsOfObjects) {
  std::vector<Thing> list;
  for (int i = 0; i < 3000; ++i) list.push_back(thing(fmt::format("p{}", i), 1, "u1", "n1"));
  sync(std::move(list), 10);
  EXPECT_EQ(store.by_index("node", "n1").size(), 3000u);
  for (int i = 0; i < 2999; ++i) store.erase(key(fmt::format("p{}", i)), "", 20);
  EXPECT_THAT(on_node("n1"), ElementsAre("p2999"));
}

TEST_F(StoreTest, ProgressIsToldAfterTheChangesItCovers) {
  std::vector<std::string> order;
  store.on_change([&](const Change<Thing>&) { order.emplace_back("change"); });
  store.on_progress([&] { order.push_back(fmt::format("seen {}", store.seen())); });
  ASSERT_TRUE(store.replace({thing("a", 3)}, 10));
  store.put(thing("a", 11));
  store.advance(11);
  store.advance(11);
  EXPECT_THAT(order, ElementsAre("change", "seen 10", "change", "seen 11"));
}

TEST_F(StoreTest, AHandlerMayWriteAndOrderIsKept) {
  sync({}, 10);
  store.on_change([&](const Change<Thing>& change) {
    if (change.after && change.after->meta.name == "a") store.put(thing("b", 12));
  });
  store.put(thing("a", 11));
  EXPECT_THAT(changes, ElementsAre("- > a/u1@11", "- > b/u1@12"));
}

// An admission remembers its own write while a list arrives: the list is for its own task to tell.
TEST_F(StoreTest, AListIsDeliveredByTheTaskThatBringsIt) {
  constexpr int kListed = 200;
  sync({}, 10);
  ThreadTasks tasks;
  std::unique_ptr<Task> informer;
  int told_by_admission = 0;
  const std::thread::id admission = std::this_thread::get_id();
  store.on_change([&](const Change<Thing>& change) {
    if (change.object().meta.name != "own") {
      told_by_admission += std::this_thread::get_id() == admission ? 1 : 0;
      return;
    }
    // Somebody begins a list while this one is told of.
    informer = tasks.spawn("informer", [&](std::stop_token) {
      std::vector<Thing> list{thing("own", 11)};
      for (int i = 0; i < kListed; ++i) list.push_back(thing(fmt::format("p{}", i), 12));
      EXPECT_TRUE(store.replace(std::move(list), 20));
    });
    while (!store.get(key("p0"))) std::this_thread::yield();
  });
  store.put(thing("own", 11));
  informer->join();
  EXPECT_EQ(told_by_admission, 0);
  EXPECT_EQ(changes.size(), kListed + 1u) << "one of own, one of each that was listed";
  EXPECT_EQ(store.seen(), 20u);
}

// Run under ThreadSanitizer, too.
TEST_F(StoreTest, WritersAndReadersOnSeveralTasks) {
  sync({}, 1);
  std::map<std::string, ResourceVersion> told;
  bool in_order = true;
  store.on_change([&](const Change<Thing>& change) {
    ResourceVersion& last = told[change.object().meta.name];
    in_order = in_order && (change.before ? change.before->meta.resource_version : 0) == last;
    last = change.after ? change.after->meta.resource_version : 0;
  });
  constexpr int kWriters = 4;
  constexpr ResourceVersion kLast = 500;
  ThreadTasks tasks;
  std::vector<std::unique_ptr<Task>> running;
  for (int writer = 0; writer < kWriters; ++writer) {
    running.push_back(tasks.spawn("writer", [&, writer](std::stop_token) {
      for (ResourceVersion version = 2; version <= kLast; ++version) {
        const auto name = static_cast<char>('a' + (version + static_cast<unsigned>(writer)) % 3);
        store.put(thing(std::string(1, name), version, "u1", "n1"));
        if (writer == 0) store.advance(version);
      }
    }));
  }
  running.push_back(tasks.spawn("reader", [&](std::stop_token stop) {
    while (!stop.stop_requested()) {
      for (const auto& object : store.by_index("node", "n1")) (void)object->meta.name.size();
      (void)store.all();
      (void)store.seen();
    }
  }));
  for (int writer = 0; writer < kWriters; ++writer)
    running[static_cast<std::size_t>(writer)]->join();
  running.clear();
  EXPECT_TRUE(in_order);
  EXPECT_EQ(store.seen(), kLast);
  for (const auto& object : store.all()) {
    EXPECT_EQ(told[object->meta.name], object->meta.resource_version);
  }
  EXPECT_EQ(told.size(), 3u);
}

}  // namespace
}  // namespace berth::kube
