#include "lb/alike.h"

#include <gtest/gtest.h>

namespace berth::lb {
namespace {

using model::ListenerSpec;
using model::Protocol;

ListenerSpec at(model::Port port, Protocol protocol = Protocol::tcp) {
  return model::plain_listener(protocol, {port, port}, fmt::format("b-{}", port));
}

TEST(Alike, AreListenersOfOneProtocolAndAttributes) {
  EXPECT_TRUE(are_alike(at(1), at(2)));
  EXPECT_FALSE(are_alike(at(1), at(2, Protocol::udp)));
  ListenerSpec other = at(2);
  other.rules[0].attributes.session_seconds = 60;
  EXPECT_FALSE(are_alike(at(1), other));
  ListenerSpec keeping = at(2);
  keeping.attributes.keep_alive = true;
  EXPECT_FALSE(are_alike(at(1), keeping));
}

TEST(Alike, NoRangeIsLikeAnother) {
  ListenerSpec range = at(2);
  range.ports.last = 5;
  EXPECT_FALSE(are_alike(range, at(7)));
  EXPECT_FALSE(are_alike(range, range));
}

TEST(Alike, RulesOfLayer7AreMadeLater) {
  ListenerSpec one = at(1, Protocol::http), other = at(2, Protocol::http);
  other.rules = {{.key = {"a.com", "/"}, .attributes = {.session_seconds = 60}}};
  EXPECT_TRUE(are_alike(one, other));
}

}  // namespace
}  // namespace berth::lb
