// Answers to questions: what they say about the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lb/inventory.h"

namespace berth::lb {
namespace {

using testing::ElementsAre;

ObservedListener there(const std::string& id, model::Port port, const std::string& name = {}) {
  return {model::ListenerId(id), {.ports = {port, port}, .name = name.empty() ? id : name}};
}

std::vector<std::string> ids_of(const Inventory& known) {
  std::vector<std::string> out;
  for (const auto& [id, listener] : known.all()) out.push_back(id.value);
  return out;
}

class InventoryUpdate : public testing::Test {
 protected:
  InventoryUpdate() { known_.replace({there("a", 80), there("b", 81), there("c", 82)}); }

  void answer(const Question& question, std::vector<ObservedListener> answers) {
    known_.update(std::span(&question, 1), std::move(answers));
  }

  Inventory known_;
};

TEST_F(InventoryUpdate, WhatIsNotAmongTheAnswersIsGone) {
  answer({.id = model::ListenerId("a")}, {});
  EXPECT_THAT(ids_of(known_), ElementsAre("b", "c"));
  answer({.name = "b"}, {});
  EXPECT_THAT(ids_of(known_), ElementsAre("c"));
  answer({.ports = {80, 90}}, {});
  EXPECT_TRUE(known_.empty());
}

TEST_F(InventoryUpdate, WhatWasNotAskedForStays) {
  answer({.id = model::ListenerId("a"), .name = "a", .ports = {80, 80}}, {there("a", 80)});
  EXPECT_THAT(ids_of(known_), ElementsAre("a", "b", "c"));
}

TEST_F(InventoryUpdate, AnAnswerTakesItsPortsFromWhoeverWasThoughtToHaveThem) {
  answer({.name = "new"}, {there("d", 81, "new")});
  EXPECT_THAT(ids_of(known_), ElementsAre("a", "c", "d"));
}

TEST_F(InventoryUpdate, TwoMayHaveChangedPlaces) {
  answer({.ports = {80, 81}}, {there("b", 80), there("a", 81)});
  EXPECT_THAT(ids_of(known_), ElementsAre("a", "b", "c"));
  EXPECT_EQ(known_.overlapping(model::Transport::tcp, {80, 80}).front()->id,
            model::ListenerId("b"));
}

TEST_F(InventoryUpdate, WhatWeAskedForIsRememberedWhileTheAnswerAgrees) {
  known_.change(ListenerChange{model::ListenerId("a"), {.max_rate = 0}});
  ASSERT_TRUE(known_.by_id(model::ListenerId("a"))->asked);
  ObservedListener now = there("a", 80);
  now.spec.attributes.max_rate = 7;  // the provider's default
  answer({.id = model::ListenerId("a")}, {now});
  EXPECT_TRUE(known_.by_id(model::ListenerId("a"))->asked);
}

}  // namespace
}  // namespace berth::lb
