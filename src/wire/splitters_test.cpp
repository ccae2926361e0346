#include "wire/splitters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace berth::wire {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::IsEmpty;

struct Collected {
  std::vector<std::string> messages;
  Result<> result;
};

template <class Splitter>
Collected collect(Splitter& splitter, std::string_view text, std::size_t chunk) {
  Collected out;
  for (std::size_t at = 0; at < text.size() && out.result; at += chunk) {
    out.result = splitter.feed(text.substr(at, chunk), [&](std::string_view message) -> Result<> {
      out.messages.emplace_back(message);
      return {};
    });
  }
  return out;
}

TEST(LineSplitter, CutsLinesAndPassesBlankOnesOver) {
  for (std::size_t chunk = 1; chunk < 20; ++chunk) {
    LineSplitter splitter;
    const auto out = collect(splitter, "{\"a\":1}\n\n \r\n{\"b\":2}\n", chunk);
    EXPECT_THAT(out.messages, ElementsAre("{\"a\":1}", "{\"b\":2}"));
    EXPECT_TRUE(splitter.finish());
  }
}

TEST(LineSplitter, TellsATruncatedStream) {
  LineSplitter splitter;
  EXPECT_THAT(collect(splitter, "{}\n{\"a\"", 100).messages, ElementsAre("{}"));
  EXPECT_EQ(splitter.finish().error().code, Code::unavailable);
}

TEST(LineSplitter, BoundsALine) {
  LineSplitter splitter;
  const std::string half(kMaxMessageBytes / 2, 'x');
  EXPECT_TRUE(collect(splitter, half, half.size()).result);
  EXPECT_TRUE(collect(splitter, half, half.size()).result);
  EXPECT_EQ(collect(splitter, "y", 1).result.error().code, Code::exhausted);
}

TEST(LineSplitter, PassesTheVisitorsErrorOn) {
  LineSplitter splitter;
  int visits = 0;
  const auto fed = splitter.feed("a\nb\n", [&](std::string_view) -> Result<> {
    ++visits;
    return fail(Code::conflict, "enough");
  });
  EXPECT_EQ(fed.error().code, Code::conflict);
  EXPECT_EQ(visits, 1);
}

TEST(LengthSplitter, CutsFrames) {
  const std::string stream = "\0\0\0\3abc\0\0\0\0\0\0\0\1x"s;
  for (std::size_t chunk = 1; chunk <= stream.size(); ++chunk) {
    LengthSplitter splitter;
    EXPECT_THAT(collect(splitter, stream, chunk).messages, ElementsAre("abc", "", "x"));
    EXPECT_TRUE(splitter.finish());
  }
}

TEST(LengthSplitter, TellsATruncatedStream) {
  for (const std::string& part : {"\0\0"s, "\0\0\0\2x"s}) {
    LengthSplitter splitter;
    EXPECT_THAT(collect(splitter, part, 1).messages, IsEmpty());
    EXPECT_EQ(splitter.finish().error().code, Code::unavailable);
  }
}

TEST(LengthSplitter, BoundsAFrameBeforeItsBytesCome) {
  LengthSplitter splitter;
  EXPECT_EQ(collect(splitter, "\1\0\0\1"s, 1).result.error().code, Code::exhausted);
}

struct ListCase {
  std::string_view text;
  std::vector<std::string> items;
  std::string_view envelope;
};

TEST(JsonItemSplitter, CutsItemsAndKeepsTheEnvelope) {
  const ListCase cases[] = {
      {R"({"kind":"L","items":[{"a":1},{"b":"]}\"\\"}],"metadata":{"resourceVersion":"5"}})",
       {R"({"a":1})", R"({"b":"]}\"\\"})"},
       R"({"kind":"L","metadata":{"resourceVersion":"5"}})"},
      {R"( { "items" : [ {"a": {"items":[{}]}} , {} ] , "kind" : "a b" } )",
       {R"({"a": {"items":[{}]}})", "{}"},
       R"({"kind":"a b"})"},
      {R"({"metadata":{"items":[1,{"x":2}]},"items":[]})",
       {},
       R"({"metadata":{"items":[1,{"x":2}]}})"},
      {R"({"items":null,"kind":"L"})", {}, R"({"kind":"L"})"},
      {R"({"kind":"L","items":[{}]})", {"{}"}, R"({"kind":"L"})"},
      {R"({"kind":"Status","code":410})", {}, R"({"kind":"Status","code":410})"},
      {"{}", {}, "{}"},
      {R"({"items":[{}]})", {"{}"}, "{}"},
  };
  for (const ListCase& list : cases) {
    for (std::size_t chunk = 1; chunk <= list.text.size(); ++chunk) {
      JsonItemSplitter splitter;
      const auto out = collect(splitter, list.text, chunk);
      ASSERT_TRUE(out.result) << out.result.error().to_string();
      EXPECT_EQ(out.messages, list.items) << list.text << " by " << chunk;
      EXPECT_EQ(splitter.finish().value(), list.envelope);
    }
  }
}

TEST(JsonItemSplitter, HandsOutViewsIntoTheChunk) {
  const std::string_view chunk = R"({"items":[{"a":1},{"b":2}]})";
  JsonItemSplitter splitter;
  ASSERT_TRUE(splitter.feed(chunk, [&](std::string_view item) -> Result<> {
    EXPECT_GE(item.data(), chunk.data());
    EXPECT_LE(item.data() + item.size(), chunk.data() + chunk.size());
    return {};
  }));
}

TEST(JsonItemSplitter, RefusesWhatIsNoList) {
  for (const std::string_view text :
       {"[", "x", "{,", "{]", "{\"a\":1,}", "{\"items\":[1", "{\"items\":[\"x\"]", "{\"items\":[[",
        "{\"items\":[{}{", "{\"items\":[,", "{\"items\":[{},]", "{\"items\":[}", "{\"items\":[] {",
        "{\"items\":{}}", "{\"items\":\"x\"}", "{}x", "{\"items\":[]}]", "{\"a\":1]"}) {
    JsonItemSplitter splitter;
    const auto out = collect(splitter, text, 1);
    ASSERT_FALSE(out.result) << text;
    EXPECT_EQ(out.result.error().code, Code::invalid);
  }
}

TEST(JsonItemSplitter, TellsATruncatedDocument) {
  const std::string_view whole = R"({"kind":"L","items":[{"a":"x"}],"metadata":{}})";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    JsonItemSplitter splitter;
    EXPECT_TRUE(collect(splitter, whole.substr(0, size), 7).result);
    EXPECT_EQ(splitter.finish().error().code, Code::unavailable) << size;
  }
}

TEST(JsonItemSplitter, BoundsItemsAndEnvelope) {
  const std::string mega(1 << 20, 'x');
  for (const std::string_view begin : {R"({"items":[{"a":")", R"({"metadata":")"}) {
    JsonItemSplitter splitter;
    Collected out = collect(splitter, begin, begin.size());
    for (int i = 0; i < 17 && out.result; ++i) out = collect(splitter, mega, mega.size());
    ASSERT_FALSE(out.result) << begin;
    EXPECT_EQ(out.result.error().code, Code::exhausted);
  }
}

TEST(JsonItemSplitter, PassesTheVisitorsErrorOn) {
  JsonItemSplitter splitter;
  const auto fed = splitter.feed(R"({"items":[{},{}]})", [](std::string_view) -> Result<> {
    return fail(Code::stopped, "stop");
  });
  EXPECT_EQ(fed.error().code, Code::stopped);
}

}  // namespace
}  // namespace berth::wire
