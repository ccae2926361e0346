#include "kube/runtime/controller.h"

#include <gtest/gtest.h>

#include <map>

#include "kube/cache/store.h"
#include "sim/kernel/kernel.h"
#include "sim/kernel/run_for.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;

struct Room {
  ObjectMeta meta{};
};

Room room(std::string name, ResourceVersion version) {
  Room out;
  out.meta.ns = Interned("games");
  out.meta.name = std::move(name);
  out.meta.uid = "u1";
  out.meta.resource_version = version;
  return out;
}

class ControllerTest : public testing::Test {
 protected:
  ControllerTest() {
    controller_.watch(
        store_, [](const auto& change, const auto& emit) { emit(change.object().meta.key()); });
  }
  void pass(Duration span) { EXPECT_TRUE(sim::run_for(kernel_, span)); }

  sim::Kernel kernel_{1};
  sim::Process& tasks_ = kernel_.start_process("test");
  Store<Room> store_;
  std::map<std::string, int> reconciled_;
  std::optional<Code> failure_;
  Controller controller_{tasks_, {.name = "rooms"}, [this](const Context&, const ObjectKey& key) {
                           ++reconciled_[key.name];
                           return failure_ ? Result<Requeue>(fail(*failure_, "not now"))
                                           : Result<Requeue>(Requeue{});
                         }};
};

TEST_F(ControllerTest, AFollowerKeepsNoQueue) {
  ASSERT_TRUE(store_.replace({room("a", 1), room("b", 2)}, 10));
  for (ResourceVersion at = 11; at < 1011; ++at) {
    store_.put(room(fmt::format("came-and-went-{}", at), at));
    store_.erase({"games", fmt::format("came-and-went-{}", at)}, "", at);
    store_.advance(at);
  }
  EXPECT_EQ(controller_.queue().depth(), 0u);
}

TEST_F(ControllerTest, AtItsStartEveryObjectIsLookedAtOnce) {
  ASSERT_TRUE(store_.replace({room("a", 1), room("b", 2)}, 10));
  store_.put(room("a", 11));
  controller_.start();
  pass(1s);
  EXPECT_EQ(reconciled_, (std::map<std::string, int>{{"a", 1}, {"b", 1}}));
  store_.put(room("b", 12));
  pass(1s);
  EXPECT_EQ(reconciled_["b"], 2);
}

// A CRD that somebody deleted is served again later, and no object says so.
TEST_F(ControllerTest, WhatTheServerDoesNotServeYetIsTriedAgain) {
  ASSERT_TRUE(store_.replace({room("a", 1)}, 10));
  failure_ = Code::unsupported;
  controller_.start();
  pass(1s);
  failure_.reset();
  const int before = reconciled_["a"];
  pass(10s);
  EXPECT_EQ(reconciled_["a"], before + 1);
}

TEST_F(ControllerTest, WhatIsInvalidIsNotTriedAgain) {
  ASSERT_TRUE(store_.replace({room("a", 1)}, 10));
  failure_ = Code::invalid;
  controller_.start();
  pass(60s);
  EXPECT_EQ(reconciled_["a"], 1);
}

// A replica that lost the lead and has it again.
TEST_F(ControllerTest, AfterAPauseEverythingIsLookedAtAgain) {
  ASSERT_TRUE(store_.replace({room("a", 1), room("b", 2)}, 10));
  controller_.start();
  pass(1s);
  controller_.stop(tasks_.now());
  store_.put(room("c", 11));
  pass(1s);
  EXPECT_EQ(controller_.queue().depth(), 0u);
  controller_.start();
  pass(1s);
  EXPECT_EQ(reconciled_, (std::map<std::string, int>{{"a", 2}, {"b", 2}, {"c", 1}}));
}

}  // namespace
}  // namespace berth::kube
