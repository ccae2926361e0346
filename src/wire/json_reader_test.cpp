#include "wire/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "wire/value.h"

namespace berth::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Reads every value to its end, as deep as it goes.
void walk(JsonNode node) {
  if (node.is_null()) return;
  if (node.is_object()) {
    node.fields([](std::string_view, JsonNode value) { walk(value); });
  } else if (node.is_array()) {
    node.items([](JsonNode item) { walk(item); });
  } else if (node.is_string()) {
    (void)node.string();
  } else {
    (void)node.raw();
  }
}

Result<> walk_all(std::string_view text) {
  JsonReader reader;
  return reader.read(text, [](std::string_view, JsonNode value) { walk(value); });
}

Result<> skip_all(std::string_view text) {
  JsonReader reader;
  return reader.read(text, [](std::string_view, JsonNode) {});
}

TEST(JsonReader, VisitsFieldsInTheirOrder) {
  JsonReader reader;
  std::vector<std::string> seen;
  const auto read = reader.read(
      R"({"name":"a\u00e9\n","n":-5,"on":true,"skip":{"x":[1,{"y":2}]},
          "list":["p",{"q":7}],"k\u0065y":null})",
      [&](std::string_view key, JsonNode value) {
        if (key == "name") seen.emplace_back(value.string());
        if (key == "n") seen.push_back(std::to_string(value.integer()));
        if (key == "on") seen.emplace_back(value.boolean() ? "on" : "off");
        if (key == "list") {
          value.items([&](JsonNode item) {
            if (item.is_string()) {
              seen.emplace_back(item.string());
            } else {
              item.fields([&](std::string_view k, JsonNode v) {
                seen.push_back(std::string(k) + "=" + std::to_string(v.integer()));
              });
            }
          });
        }
        if (key == "key") seen.emplace_back(value.is_null() ? "null" : "?");
      });
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_THAT(seen, ElementsAre("aé\n", "-5", "on", "p", "q=7", "null"));
}

TEST(JsonReader, KeepsAllViewsUntilTheNextRead) {
  JsonReader reader;
  std::map<std::string_view, std::string_view> views;
  ASSERT_TRUE(reader.read(R"({"a":"1\t","b":"2\t","c":"3\t"})",
                          [&](std::string_view k, JsonNode v) { views[k] = v.string(); }));
  EXPECT_EQ(views, (std::map<std::string_view, std::string_view>{
                       {"a", "1\t"}, {"b", "2\t"}, {"c", "3\t"}}));
}

TEST(JsonReader, IsReusedAfterErrorsAndForLargerDocuments) {
  JsonReader reader;
  EXPECT_FALSE(reader.read("{\"a\":", [](std::string_view, JsonNode) {}));
  const std::string large = R"({"a":")" + std::string(1 << 20, 'x') + "\"}";
  for (const std::string& text : {std::string(R"({"a":""})"), large, std::string(R"({"a":"y"})")}) {
    std::size_t size = 0;
    const auto read =
        reader.read(text, [&](std::string_view, JsonNode v) { size = v.string().size(); });
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(size, text.size() - 8);
  }
}

TEST(JsonReader, GivesRawText) {
  JsonReader reader;
  std::vector<std::string> raw;
  ASSERT_TRUE(
      reader.read(R"({ "o" : {"a": [1, 2]} , "e":{} ,"l":[ ] , "s":"x\n" , "n": 1.50 , "z":null })",
                  [&](std::string_view, JsonNode v) { raw.emplace_back(v.raw()); }));
  EXPECT_THAT(raw, ElementsAre(R"({"a": [1, 2]})", "{}", "[ ]", R"("x\n")", "1.50", "null"));
}

TEST(JsonReader, NullIsTheEmptyAnswer) {
  JsonReader reader;
  std::vector<std::string> seen;
  ASSERT_TRUE(reader.read(R"({"s":null,"i":null,"b":null,"o":null,"a":null,"end":"x"})",
                          [&](std::string_view key, JsonNode v) {
                            if (key == "s" || key == "end") seen.emplace_back(v.string());
                            if (key == "i") seen.push_back(std::to_string(v.integer()));
                            if (key == "b") seen.emplace_back(v.boolean() ? "true" : "false");
                            if (key == "o") v.fields([](std::string_view, JsonNode) { FAIL(); });
                            if (key == "a") v.items([](JsonNode) { FAIL(); });
                          }));
  EXPECT_THAT(seen, ElementsAre("", "0", "false", "x"));
}

TEST(JsonReader, WrongTypesNameTheField) {
  JsonReader reader;
  const auto read = reader.read(
      R"({"spec":{"ports":[{"port":80},{"port":"x"}]}})", [](std::string_view, JsonNode spec) {
        spec.fields([](std::string_view, JsonNode ports) {
          ports.items([](JsonNode port) {
            port.fields([](std::string_view, JsonNode v) { v.integer(); });
          });
        });
      });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::invalid);
  EXPECT_EQ(read.error().field, "spec.ports[1].port");
  EXPECT_THAT(read.error().message, HasSubstr("expected an integer"));
}

TEST(JsonReader, RefusesEveryWrongType) {
  const std::pair<std::string_view, void (*)(JsonNode&)> cases[] = {
      {R"({"a":1})", [](JsonNode& v) { v.string(); }},
      {R"({"a":8080.0})", [](JsonNode& v) { v.integer(); }},
      {R"({"a":99999999999999999999})", [](JsonNode& v) { v.integer(); }},
      {R"({"a":"true"})", [](JsonNode& v) { v.boolean(); }},
      {R"({"a":[]})", [](JsonNode& v) { v.fields([](std::string_view, JsonNode) {}); }},
      {R"({"a":{}})", [](JsonNode& v) { v.items([](JsonNode) {}); }},
      {R"({"a":nope})", [](JsonNode& v) { (void)v.is_null(); }},
      {R"({"a":"x"})", [](JsonNode& v) { v.string(), v.string(); }},
  };
  for (const auto& [text, use] : cases) {
    JsonReader reader;
    EXPECT_FALSE(reader.read(text, [&](std::string_view, JsonNode v) { use(v); })) << text;
  }
}

TEST(JsonReader, RefusesTextThatIsNotOneWholeObject) {
  for (const std::string_view text : {"",
                                      " ",
                                      "[]",
                                      "1",
                                      "\"a\"",
                                      "{",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "{\"a\":1",
                                      "{\"a\":{\"b\":1}",
                                      "{\"a\":[1}",
                                      "{} {}",
                                      "{}x",
                                      "{}}",
                                      "{\"a\":1}]",
                                      "{\"a\":1,}",
                                      "{\"a\" 1}",
                                      "{\"a\":\"x}",
                                      "{\"a\":\"\xff\"}",
                                      "{1:2}",
                                      "{\"a\":1}{\"a\":2}"}) {
    EXPECT_FALSE(walk_all(text)) << "walked " << text;
    EXPECT_FALSE(skip_all(text)) << "skipped " << text;
  }
}

TEST(JsonReader, RefusesEveryTruncation) {
  const std::string_view whole = R"({"a":{"b":["x",{"c":null}],"d":{}},"e":"f\"","g":[[],[1]]})";
  ASSERT_TRUE(walk_all(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(walk_all(whole.substr(0, size))) << whole.substr(0, size);
    EXPECT_FALSE(skip_all(whole.substr(0, size))) << whole.substr(0, size);
  }
}

TEST(JsonReader, BoundsNesting) {
  const auto nested = [](std::size_t depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_TRUE(walk_all(nested(kMaxDepth)));
  EXPECT_FALSE(walk_all(nested(kMaxDepth + 1)));
  EXPECT_FALSE(walk_all(nested(100'000)));
}

}  // namespace
}  // namespace berth::wire
