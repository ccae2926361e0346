#include "wire/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace berth::wire {
namespace {

using testing::HasSubstr;

std::string as_json(std::string_view yaml) {
  const auto value = parse_yaml(yaml);
  return value ? to_json(*value) : value.error().message;
}

TEST(ParseYaml, TypesPlainScalarsAsKubectlDoes) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"yes", "true"},
      {"No", "false"},
      {"ON", "true"},
      {"off", "false"},
      {"y", "true"},
      {"N", "false"},
      {"True", "true"},
      {"tRUE", "\"tRUE\""},
      {"~", "null"},
      {"null", "null"},
      {"Null", "null"},
      {"nil", "\"nil\""},
      {"5", "5"},
      {"-5", "-5"},
      {"+5", "5"},
      {"0", "0"},
      {"0x1F", "31"},
      {"-0x1f", "-31"},
      {"0o17", "15"},
      {"017", "15"},
      {"0644", "420"},
      {"0b101", "5"},
      {"1_000", "1000"},
      {"08", "8"},
      {"1.5", "1.5"},
      {".5", "0.5"},
      {"-.5", "-0.5"},
      {"1e3", "1000"},
      {"1.", "1"},
      {"1e400", "\"1e400\""},
      {"1.2.3", "\"1.2.3\""},
      {"10.0.0.1", "\"10.0.0.1\""},
      {"-", "[null]"},
      {"--5", "\"--5\""},
      {"+-5", "\"+-5\""},
      {"0x", "\"0x\""},
      {"0x-1", "\"0x-1\""},
      {"1:30", "\"1:30\""},
      {".inf", "\".inf\""},
      {"-inf", "\"-inf\""},
      {".", "\".\""},
      {"+", "\"+\""},
      {"2024-01-02", "\"2024-01-02\""},
      {"18446744073709551615", "18446744073709551615"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"-9223372036854775809", "-9.223372036854776e+18"},
  };
  for (const auto& [yaml, expected] : cases) EXPECT_EQ(as_json(yaml), expected) << yaml;
}

TEST(ParseYaml, QuotedTextStaysText) {
  EXPECT_EQ(as_json("['yes', \"5\", '', \"null\"]"), R"(["yes","5","","null"])");
  EXPECT_EQ(as_json("a: |\n  5\n"), R"({"a":"5\n"})");
  EXPECT_EQ(as_json("a: >-\n  x\n  y\n"), R"({"a":"x y"})");
  EXPECT_EQ(as_json("a: \"tab\\t\\u00e9\""), R"({"a":"tab\té"})");
}

TEST(ParseYaml, ReadsTags) {
  EXPECT_EQ(as_json("[!!str 5, !!int \"5\", !!float 5, !!bool yes, !!null '']"),
            R"(["5",5,5,true,null])");
  EXPECT_EQ(as_json("!!binary aGk="), "\"hi\"");
  EXPECT_EQ(as_json("!!map {a: !!seq []}"), R"({"a":[]})");
  EXPECT_THAT(as_json("!!int x"), HasSubstr("'x' cannot be read with the tag"));
  EXPECT_THAT(as_json("!mine x"), HasSubstr("cannot be read with the tag"));
  EXPECT_THAT(as_json("!!set {a: 1}"), HasSubstr("not known here"));
}

TEST(ParseYaml, MakesKeysText) {
  EXPECT_EQ(as_json("{5: a, yes: b, 1.5: c, 'x y': d}"),
            R"({"5":"a","true":"b","1.5":"c","x y":"d"})");
  EXPECT_THAT(as_json("~: a"), HasSubstr("a key must be"));
  EXPECT_THAT(as_json("? [a]\n: b"), HasSubstr("a key must be"));
}

TEST(ParseYaml, RefusesKeysThatAreThereTwice) {
  EXPECT_EQ(as_json("a: 1\nb:\n  c: 1\n  c: 2\n"),
            "YAML line 4 column 3: the key 'c' is there twice");
  EXPECT_THAT(as_json("{5: a, '5': b}"), HasSubstr("twice"));
}

TEST(ParseYaml, NamesLineAndColumn) {
  EXPECT_THAT(as_json("a: 1\nb: [1, 2\n"), HasSubstr("YAML line 3 column 1"));
  EXPECT_THAT(as_json("a: b: c\n"), HasSubstr("YAML line 1 column 5"));
  EXPECT_EQ(parse_yaml("a: *b").error().code, Code::invalid);
}

TEST(ParseYaml, ExpandsAnchorsAndMergeKeys) {
  EXPECT_EQ(as_json("a: &x {k: 1}\nb: *x\n"), R"({"a":{"k":1},"b":{"k":1}})");
  EXPECT_EQ(as_json("base: &b {k: 1, l: 2}\nuse:\n  <<: *b\n  k: 3\n"),
            R"({"base":{"k":1,"l":2},"use":{"k":3,"l":2}})");
  EXPECT_EQ(as_json("- &p {k: 1}\n- &q {k: 2, m: 2}\n- {k2: 0, <<: [*p, *q]}\n"),
            R"([{"k":1},{"k":2,"m":2},{"k2":0,"k":1,"m":2}])");
  EXPECT_EQ(as_json("'<<': 1"), R"({"<<":1})");
  EXPECT_THAT(as_json("<<: 1"), HasSubstr("takes a mapping"));
  EXPECT_THAT(as_json("&a [*a]"), HasSubstr("inside its own anchor"));
}

TEST(ParseYaml, RefusesABillionLaughs) {
  std::string bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += fmt::format("a{0}: &a{0} [*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1}]\n", i,
                        i - 1);
  }
  EXPECT_THAT(as_json(bomb), HasSubstr("anchors and aliases add up to more than"));
}

TEST(ParseYaml, BoundsNesting) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_yaml(nested(kMaxDepth)));
  EXPECT_FALSE(parse_yaml(nested(kMaxDepth + 1)));
  EXPECT_FALSE(parse_yaml(std::string(50'000, '[')));
  std::string blocks;
  for (std::size_t i = 0; i <= kMaxDepth; ++i) blocks += std::string(i, ' ') + "a:\n";
  EXPECT_FALSE(parse_yaml(blocks));
}

TEST(ParseYaml, TakesJsonWithItsEscapes) {
  EXPECT_EQ(as_json(R"({"a": "\ud83d\ude00\/", "b": [1, true]})"), R"({"a":"😀/","b":[1,true]})");
}

TEST(ParseYaml, RefusesWhatIsNotUtf8) { EXPECT_THAT(as_json("a: \xff\xfe"), HasSubstr("UTF-8")); }

TEST(ParseYaml, TakesExactlyOneDocument) {
  EXPECT_EQ(as_json(""), "null");
  EXPECT_EQ(as_json("# only a comment\n"), "null");
  EXPECT_EQ(as_json("---\na: 1\n---\n"), R"({"a":1})");
  EXPECT_THAT(as_json("a: 1\n---\nb: 2\n"), HasSubstr("2 documents"));
}

TEST(ParseYamlDocuments, LeavesEmptyOnesOut) {
  const auto documents = parse_yaml_documents("---\n# nothing\n---\na: 1\n---\n---\n- 2\n...\n");
  ASSERT_TRUE(documents) << documents.error().to_string();
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ(to_json((*documents)[0]), R"({"a":1})");
  EXPECT_EQ(to_json((*documents)[1]), "[2]");
}

TEST(ParseYamlDocuments, EndsAtAStrayToken) {
  EXPECT_FALSE(parse_yaml_documents("--- |\n,x\n"));
  EXPECT_FALSE(parse_yaml_documents("[a]\n]"));
}

TEST(ParseYamlDocuments, AnchorsEndWithTheirDocument) {
  EXPECT_FALSE(parse_yaml_documents("a: &x 1\n---\nb: *x\n"));
}

TEST(ToYaml, PrintsLikeKubectl) {
  const auto value = parse_json(R"({
    "apiVersion": "v1", "kind": "ConfigMap",
    "metadata": {"name": "x", "labels": {}, "creationTimestamp": "2024-01-02T03:04:05Z"},
    "ports": [{"port": 80, "names": ["a", "b"]}, [], [1, [2]]],
    "data": {"version": "1.10", "on": "yes", "empty": "", "ip": "10.0.0.1", "mode": "0644",
             "script": "#!/bin/sh\necho hi\n", "pem": "a\nb", "ratio": 0.5, "none": null},
    "args": ["--flag=x", "key: value", "a #b", "*", "中文"]})");
  ASSERT_TRUE(value);
  EXPECT_EQ(to_yaml(*value), R"(apiVersion: v1
kind: ConfigMap
metadata:
  name: x
  labels: {}
  creationTimestamp: "2024-01-02T03:04:05Z"
ports:
- port: 80
  names:
  - a
  - b
- []
- - 1
  - - 2
data:
  version: "1.10"
  "on": "yes"
  empty: ""
  ip: 10.0.0.1
  mode: "0644"
  script: |
    #!/bin/sh
    echo hi
  pem: |-
    a
    b
  ratio: 0.5
  none: null
args:
- "--flag=x"
- "key: value"
- "a #b"
- "*"
- "中文"
)");
}

TEST(ToYaml, ScalarsAndEmptyDocuments) {
  EXPECT_EQ(to_yaml(nullptr), "null\n");
  EXPECT_EQ(to_yaml(Object()), "{}\n");
  EXPECT_EQ(to_yaml(Array()), "[]\n");
  EXPECT_EQ(to_yaml("no"), "\"no\"\n");
  EXPECT_EQ(to_yaml("a\nb\n"), "|\n  a\n  b\n");
}

// A reader need not look further than 1,024 characters for a key's colon.
TEST(ToYaml, KeysOfAnyLengthReadBack) {
  for (const std::size_t size : {1022u, 1023u, 1024u, 1025u, 5000u}) {
    const std::string key(size, 'k');
    const std::string quoted(size, '\x06');
    const Value value = Object{
        {key, "text"},
        {quoted, Object{{key, Array{1, Object{{key, Object{{quoted, true}}}}}}, {"b", "a\nb\n"}}}};
    const auto again = parse_yaml(to_yaml(value));
    ASSERT_TRUE(again) << size << ": " << again.error().to_string();
    EXPECT_EQ(to_json(*again), to_json(value)) << size;
  }
}

}  // namespace
}  // namespace berth::wire
