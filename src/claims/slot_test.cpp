#include "claims/slot.h"

#include <gtest/gtest.h>

#include "claims/test_support.h"

namespace berth::claims {
namespace {

TEST(Slot, AnOwnerWhoseNameIsLongerThanALabelIsFoundByItsReference) {
  const std::string name(100, 'x');
  api::Listener listener = testing::peer_at({});
  testing::put(listener.meta.labels, api::kOwnerNameKey, api::label_value(name));
  listener.meta.owners = {
      {.kind = kube::Interned(kPoolOwner), .name = name, .uid = "u", .controller = true}};
  EXPECT_EQ(owner_of(listener).key.name, name);
  EXPECT_EQ(owner_key(kPoolOwner, owner_of(listener).key), owner_key(kPoolOwner, {"games", name}))
      << "the index has both under one key";
}

TEST(Slot, AReferenceToAnotherOwnerSaysNothing) {
  api::Listener listener = testing::peer_at({});
  listener.meta.owners = {{.kind = kube::Interned(kPoolOwner), .name = "other", .uid = "u"},
                          {.kind = kube::Interned("Ingress"), .name = "rooms", .uid = "u"}};
  EXPECT_EQ(owner_of(listener).key.name, "rooms");
}

}  // namespace
}  // namespace berth::claims
