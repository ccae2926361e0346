#include "claims/claim_patch.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "claims/test_support.h"
#include "wire/patch.h"

namespace berth::claims {
namespace {

using wire::Object;
using wire::Value;

Value listener(std::string_view claim) {
  return Object{{"metadata", Object{{"name", "demo-tcp-30000"},
                                    {"uid", "uid-1"},
                                    {"annotations", Object{{"berth.dev/claim", claim}}}}},
                {"spec", Object{{"port", 30000}}}};
}

std::string claim_on(const Value& object) {
  return std::string(wire::string_at(object, "/metadata/annotations/berth.dev~1claim"));
}

Result<Value> patched(Value object, const wire::Array& patch) {
  return wire::apply_json_patch(std::move(object), patch);
}

wire::Array whole(const ListenerPatch& patch) {
  wire::Array out = patch.tests;
  out.insert(out.end(), patch.changes.begin(), patch.changes.end());
  return out;
}

TEST(ClaimPatch, TakesAFreeSlot) {
  EXPECT_EQ(claim_on(patched(listener(""), claim_patch("uid-1", "", "mine")).value()), "mine");
}

TEST(ClaimPatch, IsRefusedWhenSomebodyWasFaster) {
  EXPECT_FALSE(patched(listener("theirs"), claim_patch("uid-1", "", "mine")));
}

TEST(ClaimPatch, IsRefusedWhenTheSlotIsBeingRemoved) {
  Value object = listener("");
  object.as_object()["metadata"].as_object()["deletionTimestamp"] = "2026-03-04T00:00:00Z";
  EXPECT_FALSE(patched(std::move(object), claim_patch("uid-1", "", "mine")));
}

// Somebody deleted it and wrote another one, of whose past we know nothing.
TEST(ClaimPatch, IsRefusedOnAnotherObjectOfTheSameName) {
  EXPECT_FALSE(patched(listener(""), claim_patch("uid-2", "", "mine")));
}

TEST(ClaimPatch, IsUndoneOnlyWhereItTookEffect) {
  EXPECT_EQ(claim_on(patched(listener("mine"), claim_patch("uid-1", "mine", "")).value()), "");
  EXPECT_FALSE(patched(listener(""), claim_patch("uid-1", "mine", "")));
}

// A Listener that leads to a Pod, as it was applied.
api::Listener reached() {
  return testing::applied(testing::leading_to(testing::lock_at({}), "10.0.0.1"));
}
api::ListenerSpec with_policy(api::ListenerSpec spec, std::string policy) {
  spec.listener_attribute = api::ListenerAttribute{.lb_policy = std::move(policy)};
  return spec;
}
// What the server has after the change.
api::Listener changed(api::Listener listener, const api::ListenerSpec& spec) {
  const Value patch = change_patch(listener, {.spec = spec}).changes;
  const std::string path = "/metadata/annotations/" + wire::escape_pointer_step(kAppliedAnnotation);
  for (const Value& operation : patch.as_array()) {
    if (wire::string_at(operation, "/path") == path && wire::string_at(operation, "/op") == "add")
      testing::put(listener.meta.annotations, kAppliedAnnotation,
                   std::string(wire::string_at(operation, "/value")));
  }
  listener.spec = spec;
  return listener;
}

TEST(ChangePatch, AttributesDoNotTakeAPortFromWhomItLeadsTo) {
  const api::Listener now = changed(reached(), with_policy(reached().spec, "LEAST_CONN"));
  EXPECT_FALSE(is_applied(now));
  EXPECT_TRUE(are_targets_applied(now));
  // Not even when the first change was never applied.
  EXPECT_TRUE(are_targets_applied(changed(now, with_policy(now.spec, "IP_HASH"))));

  const api::Listener free = testing::lock_at({});
  EXPECT_TRUE(leads_nowhere(changed(free, with_policy(free.spec, "LEAST_CONN"))));
}

TEST(ChangePatch, OtherTargetsAreNotAppliedNorThoseFromBefore) {
  api::ListenerSpec other = reached().spec;
  other.target_group->backends.front().ip = "10.0.0.2";
  const api::Listener now = changed(reached(), other);
  EXPECT_FALSE(are_targets_applied(now));
  const api::Listener back = changed(now, reached().spec);
  EXPECT_FALSE(are_targets_applied(back)) << "somebody may be about to apply the other ones";
  EXPECT_FALSE(leads_nowhere(changed(reached(), testing::lock_at({}).spec)));
}

// Somebody took the annotation off; the next one may have written another meanwhile.
TEST(ChangePatch, AClaimIsWrittenAgainWhereThereIsNone) {
  Value bare = listener("");
  bare.as_object()["metadata"].as_object()["annotations"] = Object{{"other", "x"}};
  api::Listener known = testing::peer_at({});
  known.meta.uid = "uid-1";
  const wire::Array patch = whole(change_patch(known, {.claim = "mine"}));
  EXPECT_EQ(claim_on(patched(bare, patch).value()), "mine");
  EXPECT_FALSE(patched(listener(""), patch));
  EXPECT_FALSE(patched(listener("theirs"), patch));
}

TEST(ChangePatch, WhatIsKeptOfTheAnnotationIsTested) {
  const Value patch =
      change_patch(reached(), {.spec = with_policy(reached().spec, "IP_HASH")}).tests;
  const std::string text = wire::to_json(patch);
  EXPECT_NE(text.find(R"({"op":"test","path":"/metadata/annotations/berth.dev~1applied")"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace berth::claims
