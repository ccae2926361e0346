#include "kube/cache/typed.h"

#include <gtest/gtest.h>

#include "kube/cache/projection.h"
#include "kube/client/test_fake_transport.h"

namespace berth::kube {
namespace {

using testing::FakeTransport;
using testing::JumpingTasks;

struct Room {
  ObjectMeta meta{};
  std::string mood{};
};

class NoCredentials final : public Credentials {
 public:
  Result<Identity> identity(const Context&) override { return Identity{}; }
  void rejected(const Identity&) override {}
};

const ResourceType kRooms{"play.example", "v1", "rooms", "Room"};
const ObjectKey kFirst{"games", "first"};

Result<Room> decode_room(wire::JsonReader& reader, std::string_view text) {
  Room out;
  Result<> read = decode_object(reader, text, kRooms, {}, out.meta,
                                [&](std::string_view key, wire::JsonNode value) {
                                  if (key == "mood") out.mood = value.string();
                                });
  if (!read) return pass(read);
  return out;
}

std::string text_of(std::string_view name, std::string_view version, std::string_view mood) {
  return fmt::format(
      R"({{"metadata":{{"namespace":"games","name":"{}","uid":"u1","resourceVersion":"{}"}},"mood":"{}"}})",
      name, version, mood);
}

class TypedTest : public ::testing::Test {
 protected:
  TypedTest() { EXPECT_TRUE(store_.replace({}, 1)); }
  static std::shared_ptr<const ClusterConfig> config() {
    auto out = std::make_shared<ClusterConfig>();
    out->server = "https://api:6443";
    out->credentials = std::make_shared<NoCredentials>();
    return out;
  }
  std::string known(const ObjectKey& key) const {
    const auto room = store_.get(key);
    return room ? room->mood : "-";
  }

  FakeTransport transport_;
  JumpingTasks tasks_;
  Context context_{.tasks = tasks_};
  Client client_{transport_, config()};
  Store<Room> store_;
  Typed<Room> rooms_{client_, store_, kRooms, decode_room};
};

TEST_F(TypedTest, WhatTheServerAnswersIsKnownAtOnce) {
  transport_.answer(201, text_of("first", "5", "new"))
      .answer(200, text_of("first", "6", "patched"))
      .answer(200, text_of("first", "7", "told"))
      .answer(200, text_of("first", "8", "read"));
  const auto made = rooms_.create(context_, wire::parse_json(text_of("first", "", "new")).value());
  ASSERT_TRUE(made && *made);
  EXPECT_EQ((*made)->mood, "new");
  EXPECT_EQ(known(kFirst), "new");
  ASSERT_TRUE(rooms_.patch(context_, kFirst, PatchType::merge, wire::Object{}));
  EXPECT_EQ(known(kFirst), "patched");
  ASSERT_TRUE(rooms_.patch_status(context_, kFirst, PatchType::merge, wire::Object{}));
  EXPECT_NE(transport_.requests.back().url.find("/rooms/first/status?"), std::string::npos);
  EXPECT_EQ(known(kFirst), "told");
  ASSERT_TRUE(rooms_.get(context_, kFirst));
  EXPECT_EQ(known(kFirst), "read");
}

TEST_F(TypedTest, AnAnswerThatIsOldNewsChangesNothing) {
  transport_.answer(200, text_of("first", "9", "late")).answer(200, text_of("first", "4", "early"));
  ASSERT_TRUE(rooms_.get(context_, kFirst));
  const auto early = rooms_.patch(context_, kFirst, PatchType::json, wire::Array{});
  ASSERT_TRUE(early && *early);
  EXPECT_EQ((*early)->mood, "early") << "what was answered";
  EXPECT_EQ(known(kFirst), "late") << "what is known";
}

// The write has happened: whoever fails now would do it again.
TEST_F(TypedTest, AWriteWhoseAnswerCannotBeReadHasSucceeded) {
  transport_.answer(200, text_of("first", "5", "fine"))
      .answer(200, R"({"metadata":{}})")
      .answer(200, "<html>");
  ASSERT_TRUE(rooms_.get(context_, kFirst));
  for (int i = 0; i < 2; ++i) {
    const auto written = rooms_.patch(context_, kFirst, PatchType::merge, wire::Object{});
    ASSERT_TRUE(written) << written.error().to_string();
    EXPECT_EQ(*written, nullptr);
    EXPECT_EQ(known(kFirst), "fine");
  }
}

TEST_F(TypedTest, AListBringsAllOfItsPages) {
  transport_
      .answer(200, fmt::format(R"({{"metadata":{{"resourceVersion":"9","continue":"more"}},
                                    "items":[{},{{"metadata":{{}}}}]}})",
                               text_of("first", "5", "one")))
      .answer(200, fmt::format(R"({{"metadata":{{"resourceVersion":"9"}},"items":[{}]}})",
                               text_of("second", "6", "two")));
  ASSERT_TRUE(rooms_.list(context_, {.label_selector = "a=b"}));
  EXPECT_EQ(known(kFirst), "one");
  EXPECT_EQ(known({"games", "second"}), "two");
  EXPECT_EQ(store_.size(), 2u) << "one of them cannot be read";
}

TEST_F(TypedTest, ARefusalIsHandedOnAndChangesNothing) {
  transport_
      .answer(404, R"({"kind":"Status","status":"Failure","reason":"NotFound","code":404,
                             "details":{"name":"first"}})")
      .answer(200, "{}");
  const auto found = rooms_.get(context_, kFirst);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::not_found);
  EXPECT_EQ(store_.size(), 0u);
  EXPECT_TRUE(rooms_.remove(context_, kFirst, {.uid = "u1"}));
  EXPECT_EQ(transport_.requests.back().method, "DELETE");
  EXPECT_NE(transport_.requests.back().body.find("u1"), std::string::npos);
}

TEST(WasOvertaken, MeansThatNothingWasWritten) {
  for (const Code code : {Code::precondition, Code::not_found, Code::conflict})
    EXPECT_TRUE(was_overtaken(Error{.code = code}));
  // Nobody knows, or it is for a person.
  for (const Code code : {Code::timeout, Code::unavailable, Code::throttled, Code::already_exists,
                          Code::invalid, Code::forbidden})
    EXPECT_FALSE(was_overtaken(Error{.code = code}));
}

}  // namespace
}  // namespace berth::kube
