#include "claims/listener_write.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/decode.h"
#include "claims/test_support.h"
#include "kube/client/test_scripted_api.h"

namespace berth::claims {
namespace {

using wire::Array;
using wire::Object;

// A peer as a process knows it, and as the server has it.
class ListenerWriteTest : public ::testing::Test {
 protected:
  // The server's object is the same again, so many changes later.
  void become(std::int64_t generation) {
    wire::Value object = testing::encoded(known_);
    object.as_object()["metadata"].as_object()["generation"] = generation;
    api_.put(api::listener_kind().type, std::move(object));
  }
  Result<> note_applied(bool same_generation) {
    return write_listener({.tasks = tasks_}, client_, store_, known_,
                          {.tests = tests_of(known_),
                           .changes = {Object{{"op", "add"},
                                              {"path", "/metadata/annotations/berth.dev~1applied"},
                                              {"value", "now"}}},
                           .same_generation = same_generation});
  }

  api::Listener known_ = [] {
    api::Listener peer = testing::peer_at({});
    peer.meta.generation = 1;
    return peer;
  }();
  kube::testing::JumpingTasks tasks_;
  kube::testing::ScriptedApi api_;
  kube::Client client_{api_, kube::fixed_config("https://api:6443", {})};
  ListenerStore store_;
};

TEST_F(ListenerWriteTest, WhatIsAsWeKnowItIsWritten) {
  become(1);
  EXPECT_TRUE(note_applied(true));
}

// It led to a Pod in between. What was done for it before says nothing of now.
TEST_F(ListenerWriteTest, WhatIsTheSameAgainIsNotTheSame) {
  become(3);
  EXPECT_TRUE(note_applied(false)) << "who does not ask for it does not mind";
  become(5);
  const Result<> written = note_applied(true);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::precondition);
}

}  // namespace
}  // namespace berth::claims
