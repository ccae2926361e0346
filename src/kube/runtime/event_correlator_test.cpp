#include "kube/runtime/event_correlator.h"

#include <gtest/gtest.h>

namespace berth::kube {
namespace {

using namespace std::chrono_literals;

const WallTime kWall{std::chrono::sys_days{std::chrono::year{2026} / 1 / 2}};
const Instant kStart{1h};

EventNote note(std::string message, std::string pod = "room-0") {
  return {.target = {"v1", "Pod", "games", std::move(pod), "u1"},
          .type = "Warning",
          .reason = "PoolExhausted",
          .message = std::move(message)};
}

TEST(EventCorrelator, TheSameEventAgainRaisesTheCount) {
  EventCorrelator events;
  const auto first = events.observe(note("full"), kWall, kStart);
  ASSERT_TRUE(first && first->create);
  const auto second = events.observe(note("full"), kWall + 5s, kStart + 5s);
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->create);
  EXPECT_EQ(second->event.name, first->event.name);
  EXPECT_EQ(second->event.count, 2);
  EXPECT_EQ(second->event.first, kWall);
  EXPECT_EQ(second->event.last, kWall + 5s);
}

TEST(EventCorrelator, EventsOfOneMomentOnObjectsOfOneNameHaveDifferentNames) {
  EventCorrelator events;
  EventNote other = note("full");
  other.target.kind = "PortBinding";
  other.target.uid = "u2";
  const auto first = events.observe(note("full"), kWall, kStart);
  const auto second = events.observe(std::move(other), kWall, kStart);
  ASSERT_TRUE(first && first->create && second && second->create);
  EXPECT_NE(first->event.name, second->event.name);
}

TEST(EventCorrelator, ManySimilarEventsBecomeOne) {
  EventCorrelator events;
  for (int i = 0; i < 10; ++i) {
    const auto write = events.observe(note(fmt::format("try {}", i)), kWall, kStart);
    ASSERT_TRUE(write && write->create) << i;
    EXPECT_EQ(write->event.note.message, fmt::format("try {}", i));
  }
  const auto eleventh = events.observe(note("try 10"), kWall, kStart);
  ASSERT_TRUE(eleventh && eleventh->create);
  EXPECT_EQ(eleventh->event.note.message, "(combined from similar events): PoolExhausted");
  const auto twelfth = events.observe(note("try 11"), kWall, kStart);
  ASSERT_TRUE(twelfth);
  EXPECT_FALSE(twelfth->create);
  EXPECT_EQ(twelfth->event.count, 2);
}

TEST(EventCorrelator, AfterAQuietSpanEventsStandAloneAgain) {
  EventCorrelator events;
  for (int i = 0; i < 12; ++i) (void)events.observe(note(fmt::format("try {}", i)), kWall, kStart);
  const auto later = events.observe(note("try 99"), kWall, kStart + 11min);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->event.note.message, "try 99");
}

TEST(EventCorrelator, AFloodOnOneObjectIsDroppedAndOthersAreNot) {
  EventCorrelator events;
  int written = 0;
  for (int i = 0; i < 100; ++i) written += events.observe(note("full"), kWall, kStart).has_value();
  EXPECT_EQ(written, 25);
  EXPECT_TRUE(events.observe(note("full", "room-1"), kWall, kStart));
  EXPECT_FALSE(events.observe(note("full"), kWall, kStart + 299s));
  EXPECT_TRUE(events.observe(note("full"), kWall, kStart + 301s));
}

TEST(EventCorrelator, WhatTheServerLostIsCreatedAnew) {
  EventCorrelator events;
  const auto first = events.observe(note("full"), kWall, kStart);
  events.forget(first->event);
  const auto again = events.observe(note("full"), kWall + 2h, kStart + 2h);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->create);
  EXPECT_EQ(again->event.count, 1);
}

}  // namespace
}  // namespace berth::kube
