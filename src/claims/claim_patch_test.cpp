#include "claims/claim_patch.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "wire/patch.h"

namespace berth::claims {
namespace {

using wire::Object;
using wire::Value;

Value listener(std::string_view claim) {
  return Object{{"metadata", Object{{"name", "demo-tcp-30000"},
                                    {"annotations", Object{{"berth.dev/claim", claim}}}}},
                {"spec", Object{{"port", 30000}}}};
}

std::string claim_on(const Value& object) {
  return std::string(wire::string_at(object, "/metadata/annotations/berth.dev~1claim"));
}

Result<Value> patched(Value object, const wire::Array& patch) {
  return wire::apply_json_patch(std::move(object), patch);
}

TEST(ClaimPatch, TakesAFreeSlot) {
  EXPECT_EQ(claim_on(patched(listener(""), claim_patch("", "mine")).value()), "mine");
}

TEST(ClaimPatch, IsRefusedWhenSomebodyWasFaster) {
  EXPECT_FALSE(patched(listener("theirs"), claim_patch("", "mine")));
}

TEST(ClaimPatch, IsRefusedWhenTheSlotIsBeingRemoved) {
  Value object = listener("");
  object.as_object()["metadata"].as_object()["deletionTimestamp"] = "2026-03-04T00:00:00Z";
  EXPECT_FALSE(patched(std::move(object), claim_patch("", "mine")));
}

TEST(ClaimPatch, IsUndoneOnlyWhereItTookEffect) {
  EXPECT_EQ(claim_on(patched(listener("mine"), claim_patch("mine", "")).value()), "");
  EXPECT_FALSE(patched(listener(""), claim_patch("mine", "")));
}

}  // namespace
}  // namespace berth::claims
