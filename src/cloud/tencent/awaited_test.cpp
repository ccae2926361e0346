#include "cloud/tencent/awaited.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace berth::cloud::tencent {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000s};

class TencentAwaited : public testing::Test {
 protected:
  TencentAwaited() { questions_.set_limit(20); }

  void await(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      tasks_.push_back(std::make_unique<Awaited::Task>(awaited_, questions_, kStart));
  }
  // Those that ask when the first of them could.
  std::size_t ask_early(const Pace& pace) {
    std::size_t out = 0;
    for (const auto& task : tasks_)
      if (task->first_question(pace, kStart + pace.first()) <= kStart + pace.first()) ++out;
    return out;
  }
  static Pace known() {
    Pace pace;
    pace.was_over_between(400ms, 500ms);
    return pace;
  }

  Awaited awaited_;
  lb::Budget questions_;
  std::vector<std::unique_ptr<Awaited::Task>> tasks_;
};

TEST_F(TencentAwaited, OneThatIsAloneIsAskedForEarly) {
  await(1);
  EXPECT_EQ(tasks_[0]->first_question(known(), kStart), kStart + known().first());
  EXPECT_EQ(ask_early(known()), 1u);
}

TEST_F(TencentAwaited, ManyAreAskedForWhenTheyAreSurelyOver) {
  await(20);
  EXPECT_EQ(ask_early(known()), 0u) << "each question in vain takes one from another task";
  const Instant early = kStart + known().first();
  for (const auto& task : tasks_)
    EXPECT_EQ(task->first_question(known(), early), kStart + known().surely());
  EXPECT_EQ(known().surely(), 500ms);
}

TEST_F(TencentAwaited, WhereThereIsRoomSomeOfManyAreAskedForEarly) {
  await(10);
  const std::size_t early = ask_early(known());
  EXPECT_GE(early, 1u);
  EXPECT_LE(early, 3u);
}

TEST_F(TencentAwaited, WhoHasEndedCountsNoMore) {
  await(20);
  tasks_.resize(1);
  EXPECT_EQ(ask_early(known()), 1u);
}

TEST_F(TencentAwaited, TheOldestFindsOutWhatNobodyKnows) {
  await(20);
  const Pace unknown;
  EXPECT_EQ(ask_early(unknown), 1u);
  const Instant early = kStart + unknown.first();
  const Instant again = tasks_[1]->first_question(unknown, early);
  EXPECT_GT(again, early);
  EXPECT_LT(again, kStart + unknown.surely()) << "the others look again whether it is known";
  EXPECT_LE(tasks_[1]->first_question(unknown, kStart + unknown.surely()),
            kStart + unknown.surely())
      << "and do not wait for ever";
}

}  // namespace
}  // namespace berth::cloud::tencent
