#include "controllers/install/removal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/modules.h"
#include "controllers/install/manifests.h"

namespace berth::controllers::install {
namespace {

TEST(Removal, ReadsWhatItWrites) {
  for (const Removal one : {Removal::none, Removal::draining, Removal::leaving})
    EXPECT_EQ(parse_removal(to_string(one)), one);
  EXPECT_EQ(parse_removal("something that a later version says"), Removal::draining);
}

TEST(Removal, IsTakenBackByWhoAppliesTheManifests) {
  const std::string annotation =
      "/metadata/annotations/" + wire::escape_pointer_step(kRemovalAnnotation);
  int marked = 0;
  for (const Wanted& one : manifests({.modules = app::all_declarations()})) {
    const wire::Value* const found = wire::find(one.object, annotation);
    if (!found) continue;
    ++marked;
    EXPECT_EQ(one.name(), marked_crd());
    EXPECT_EQ(wire::string_at(one.object, annotation), "");
  }
  EXPECT_EQ(marked, 1);
}

TEST(Removal, AControllerThatKeepsThingsInstalledDoesNotTakeItBack) {
  for (const Wanted& one : wanted_objects({.modules = app::all_declarations()}, "a bundle"))
    EXPECT_EQ(wire::to_json(one.object).find(kRemovalAnnotation), std::string::npos) << one.name();
}

}  // namespace
}  // namespace berth::controllers::install
