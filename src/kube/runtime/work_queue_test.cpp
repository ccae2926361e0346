#include "kube/runtime/work_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sim/kernel/kernel.h"
#include "sim/kernel/run_for.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;

const ObjectKey kA{"games", "a"};
const ObjectKey kB{"games", "b"};

class FakeProgress final : public StoreProgress {
 public:
  bool synced() const override { return true; }
  ResourceVersion seen() const override { return seen_; }
  void on_progress(std::function<void()> callback) override { callback_ = std::move(callback); }
  void advance(ResourceVersion to) {
    seen_ = to;
    if (callback_) callback_();
  }

 private:
  ResourceVersion seen_ = 0;
  std::function<void()> callback_;
};

class WorkQueueTest : public testing::Test {
 protected:
  // Takes without waiting: a stop that has been requested ends an empty take at once.
  std::optional<ObjectKey> take_now() {
    const Instant before = kernel_.now();
    std::optional<ObjectKey> key;
    bool ended = false;
    std::stop_source stop;
    const auto task = tasks_.spawn("take", [&](std::stop_token) {
      key = queue_.take(stop.get_token());
      ended = true;
    });
    const auto watchdog = tasks_.spawn("watchdog", [&](std::stop_token own) {
      (void)sleep_for(tasks_, 1ns, own);
      stop.request_stop();
    });
    EXPECT_TRUE(kernel_.run_until([&] { return ended; }));
    EXPECT_LE(kernel_.now() - before, 1ms);
    return key;
  }
  void pass(Duration span) { EXPECT_TRUE(sim::run_for(kernel_, span)); }

  sim::Kernel kernel_{1};
  sim::Process& tasks_ = kernel_.start_process("test");
  metrics::Registry registry_;
  WorkQueue queue_{tasks_, {.name = "rooms", .registry = &registry_}};
};

TEST_F(WorkQueueTest, AKeyIsHandedOutOnceHoweverOftenItWasAdded) {
  queue_.add(kA);
  queue_.add(kA);
  EXPECT_EQ(take_now(), kA);
  EXPECT_EQ(take_now(), std::nullopt);
}

TEST_F(WorkQueueTest, AWorkerThatWaitsForNothingHearsOfADelayedKey) {
  std::optional<ObjectKey> key;
  const auto worker =
      tasks_.spawn("take", [&](std::stop_token stop) { key = queue_.take(std::move(stop)); });
  pass(1s);  // it waits without a deadline now
  const Instant before = kernel_.now();
  queue_.add_after(kA, 5s);
  ASSERT_TRUE(kernel_.run_until([&] { return key.has_value(); }));
  EXPECT_EQ(kernel_.now() - before, 5s);
}

TEST_F(WorkQueueTest, AKeyAddedDuringItsWorkComesAgainAfterwards) {
  queue_.add(kA);
  EXPECT_EQ(take_now(), kA);
  queue_.add(kA);
  EXPECT_EQ(take_now(), std::nullopt) << "two workers on one key";
  queue_.done(kA);
  EXPECT_EQ(take_now(), kA);
}

TEST_F(WorkQueueTest, RealChangesGoBeforeFirstLists) {
  queue_.add(kA, Priority::low);
  queue_.add(kB);
  EXPECT_EQ(take_now(), kB);
  EXPECT_EQ(take_now(), kA);
}

// Changes that come as fast as they are worked on must not keep a restart from being finished.
TEST_F(WorkQueueTest, AFirstListIsWorkedThroughHoweverManyChangesCome) {
  queue_.add(kA, Priority::low);
  int changes = 0;
  for (; changes < 1000; ++changes) {
    queue_.add({"games", fmt::format("busy-{}", changes)});
    queue_.add({"games", fmt::format("more-{}", changes)});
    if (take_now() == kA) break;
  }
  EXPECT_LT(changes, 100);
}

TEST_F(WorkQueueTest, ARealChangeMovesAWaitingKeyForward) {
  queue_.add(kA, Priority::low);
  queue_.add(kB, Priority::low);
  queue_.add(kB);
  EXPECT_EQ(take_now(), kB);
  EXPECT_EQ(take_now(), kA);
  EXPECT_EQ(take_now(), std::nullopt);
}

TEST_F(WorkQueueTest, OfTwoDelaysTheEarlierCounts) {
  queue_.add_after(kA, 10s);
  queue_.add_after(kA, 1s);
  queue_.add_after(kA, 20s);
  EXPECT_EQ(take_now(), std::nullopt);
  pass(1s);
  EXPECT_EQ(take_now(), kA);
  queue_.done(kA);
  pass(30s);
  EXPECT_EQ(take_now(), std::nullopt);
}

TEST_F(WorkQueueTest, FailuresWaitTwiceAsLongEachTimeUntilForgotten) {
  for (const Duration wait : {5ms, 10ms, 20ms, 40ms}) {
    queue_.add_after_failure(kA);
    pass(wait - 1ms);
    EXPECT_EQ(take_now(), std::nullopt) << wait.count();
    pass(2ms);
    EXPECT_EQ(take_now(), kA) << wait.count();
    queue_.done(kA);
  }
  EXPECT_EQ(queue_.failures(kA), 4);
  queue_.forget(kA);
  queue_.add_after_failure(kA);
  pass(6ms);
  EXPECT_EQ(take_now(), kA);
}

TEST_F(WorkQueueTest, BackoffStopsGrowingAtItsCap) {
  for (int i = 0; i < 100; ++i) queue_.add_after_failure(kA);
  pass(1001s);
  EXPECT_EQ(take_now(), kA);
}

TEST_F(WorkQueueTest, AParkedKeyWaitsForTheStore) {
  FakeProgress store;
  store.on_progress([&] { queue_.wake_parked(); });
  queue_.park(kA, store, 7);
  queue_.add(kA);
  EXPECT_EQ(take_now(), std::nullopt);
  store.advance(6);
  EXPECT_EQ(take_now(), std::nullopt);
  store.advance(7);
  EXPECT_EQ(take_now(), kA);
  EXPECT_EQ(take_now(), std::nullopt);
}

TEST_F(WorkQueueTest, AKeyThatIsParkedTwiceWaitsForBoth) {
  FakeProgress pods;
  FakeProgress rooms;
  for (FakeProgress* const store : {&pods, &rooms})
    store->on_progress([&] { queue_.wake_parked(); });
  queue_.park(kA, pods, 7);
  queue_.park(kA, rooms, 3);
  queue_.park(kA, rooms, 9);
  queue_.park(kB, rooms, 5);
  queue_.add(kA);
  queue_.add(kB);
  EXPECT_EQ(take_now(), std::nullopt);
  rooms.advance(8);
  EXPECT_EQ(take_now(), kB);
  EXPECT_EQ(take_now(), std::nullopt);
  pods.advance(7);
  EXPECT_EQ(take_now(), std::nullopt);
  rooms.advance(9);
  EXPECT_EQ(take_now(), kA);
}

TEST_F(WorkQueueTest, AStoreThatNeverCatchesUpHoldsAKeyOnlySoLong) {
  FakeProgress store;
  queue_.park(kA, store, 7);
  queue_.add(kA);
  EXPECT_EQ(take_now(), std::nullopt);
  pass(31s);
  EXPECT_EQ(take_now(), kA);
}

TEST_F(WorkQueueTest, ShutDownWakesEveryWorker) {
  int ended = 0;
  std::vector<std::unique_ptr<Task>> workers;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(tasks_.spawn("worker", [&](std::stop_token stop) {
      EXPECT_EQ(queue_.take(stop), std::nullopt);
      ++ended;
    }));
  }
  ASSERT_TRUE(kernel_.run_until_quiescent(1s));
  queue_.shut_down();
  queue_.add(kA);
  ASSERT_TRUE(kernel_.run_until([&] { return ended == 3; }));
}

TEST_F(WorkQueueTest, ReportsWhatDashboardsExpect) {
  queue_.add(kA);
  queue_.add(kB);
  EXPECT_EQ(take_now(), kA);
  const std::string text = registry_.text();
  EXPECT_NE(text.find("workqueue_depth{controller=\"rooms\",name=\"rooms\"} 1"), std::string::npos)
      << text;
  EXPECT_NE(text.find("workqueue_adds_total{controller=\"rooms\",name=\"rooms\"} 2"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("workqueue_retries_total{controller=\"rooms\",name=\"rooms\"} 0"),
            std::string::npos)
      << text;
}

// Random histories: no key is worked on by two workers, and every add is followed by a take that
// began after it.
TEST(WorkQueueSchedules, NoKeyRunsTwiceAtOnceAndNoAddIsLost) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    sim::Kernel kernel(seed);
    sim::Process& tasks = kernel.start_process("test");
    WorkQueue queue(tasks, {});
    std::set<ObjectKey> running;
    std::map<ObjectKey, int> version;  // of the world
    std::map<ObjectKey, int> worked;   // the version that the last work saw
    std::vector<std::unique_ptr<Task>> parts;
    for (int w = 0; w < 3; ++w) {
      parts.push_back(tasks.spawn("worker", [&](std::stop_token stop) {
        Random random(seed);
        while (const auto key = queue.take(stop)) {
          EXPECT_TRUE(running.insert(*key).second);
          const int saw = version[*key];
          (void)sleep_for(tasks, Duration{static_cast<long>(random.below(1000))}, stop);
          worked[*key] = saw;
          running.erase(*key);
          if (random.chance(0.2)) queue.add_after_failure(*key);
          queue.done(*key);
        }
      }));
    }
    int producers = 2;
    for (int p = 0; p < 2; ++p) {
      parts.push_back(tasks.spawn("producer", [&, p](std::stop_token stop) {
        Random random(seed * 31 + static_cast<std::uint64_t>(p));
        for (int i = 0; i < 30; ++i) {
          const ObjectKey key{"games", std::string(1, static_cast<char>('a' + random.below(4)))};
          ++version[key];
          if (random.chance(0.5))
            queue.add(key, random.chance(0.5) ? Priority::low : Priority::normal);
          else
            queue.add_after(key, Duration{static_cast<long>(random.below(2000))});
          (void)sleep_for(tasks, Duration{static_cast<long>(random.below(500))}, stop);
        }
        --producers;
      }));
    }
    ASSERT_TRUE(kernel.run_until([&] { return producers == 0; }));
    ASSERT_TRUE(kernel.run_until_quiescent(24h));
    EXPECT_EQ(worked, version);
    queue.shut_down();
  }
}

// The worker that waits for the delay is the one that is woken for the other key.
TEST_F(WorkQueueTest, ADelayEndsInTimeWhileAnyWorkerIsIdle) {
  const ObjectKey slow{"games", "slow"};
  const Instant start = kernel_.now();
  std::optional<Instant> taken_at;
  std::vector<std::unique_ptr<Task>> workers;
  for (int i = 0; i < 2; ++i) {
    workers.push_back(tasks_.spawn("worker", [&](std::stop_token stop) {
      while (const auto key = queue_.take(stop)) {
        if (*key == kA) taken_at = kernel_.now();
        if (*key == slow) (void)sleep_for(tasks_, 1h, stop);
        queue_.done(*key);
      }
    }));
  }
  pass(1s);
  queue_.add_after(kA, 10s);
  pass(1s);
  queue_.add(slow);
  EXPECT_TRUE(kernel_.run_until([&] { return taken_at.has_value(); }));
  EXPECT_EQ(*taken_at - start, 11s);
}

}  // namespace
}  // namespace berth::kube
