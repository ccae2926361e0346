#include "kube/runtime/controller_of.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/kernel/kernel.h"
#include "sim/kernel/run_for.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;

struct Room {
  ObjectMeta meta{};
};
using RoomKey = KeyOf<Room>;
struct Other {
  ObjectMeta meta{};
};

// What this is for.
static_assert(!std::is_convertible_v<ObjectKey, RoomKey>);
static_assert(!std::is_convertible_v<KeyOf<Other>, RoomKey>);
static_assert(!std::is_convertible_v<NamespaceKey, RoomKey>);
static_assert(QueueKey<RoomKey> && QueueKey<NamespaceKey> && !QueueKey<ObjectKey>);

Room room(std::string ns, std::string name, ResourceVersion version) {
  Room out;
  out.meta.ns = Interned(ns);
  out.meta.name = std::move(name);
  out.meta.uid = "u1";
  out.meta.resource_version = version;
  return out;
}

class ControllerOfTest : public testing::Test {
 protected:
  void pass(Duration span) { EXPECT_TRUE(sim::run_for(kernel_, span)); }

  sim::Kernel kernel_{1};
  sim::Process& tasks_ = kernel_.start_process("test");
  Store<Room> store_;
};

TEST_F(ControllerOfTest, AKeyComesBackAsItWas) {
  std::map<RoomKey, int> seen;
  ControllerOf<RoomKey> controller(tasks_, {.name = "rooms"},
                                   [&](const Context&, const RoomKey& key) -> Result<Requeue> {
                                     ++seen[key];
                                     return Requeue{};
                                   });
  controller.watch(
      store_, [](const auto& change, const auto& emit) { emit(RoomKey::of(change.object())); });
  ASSERT_TRUE(store_.replace({room("games", "a", 1)}, 10));
  controller.core().start();
  controller.add(RoomKey({"lobby", "b"}));
  controller.add_after(RoomKey({"lobby", "late"}), 5s);
  pass(1s);
  EXPECT_EQ(seen,
            (std::map<RoomKey, int>{{RoomKey({"games", "a"}), 1}, {RoomKey({"lobby", "b"}), 1}}));
  pass(5s);
  EXPECT_EQ(seen[RoomKey({"lobby", "late"})], 1);
  controller.core().stop(tasks_.now());
}

TEST_F(ControllerOfTest, WhatIsDoneOncePerNamespaceIsKeyedByIt) {
  std::map<std::string, int> seen;
  ControllerOf<NamespaceKey> controller(
      tasks_, {.name = "sweep"}, [&](const Context&, const NamespaceKey& key) -> Result<Requeue> {
        ++seen[key.ns];
        return Requeue{};
      });
  controller.watch(store_, [](const auto& change, const auto& emit) {
    emit(NamespaceKey{std::string(change.object().meta.ns.view())});
  });
  ASSERT_TRUE(
      store_.replace({room("games", "a", 1), room("games", "b", 2), room("lobby", "c", 3)}, 10));
  controller.core().start();
  pass(1s);
  EXPECT_EQ(seen, (std::map<std::string, int>{{"games", 1}, {"lobby", 1}}));
  controller.core().stop(tasks_.now());
}

}  // namespace
}  // namespace berth::kube
