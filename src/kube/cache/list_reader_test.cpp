#include "kube/cache/list_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/client/test_proto_writer.h"

namespace berth::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Read {
  std::vector<std::string> items{};
  Result<ListEnvelope> envelope{};
};

Read read(Encoding encoding, std::string_view text) {
  Read out;
  ListReader reader(encoding);
  auto fed = reader.feed(text, [&](std::string_view item) {
    out.items.emplace_back(item);
    return Result<>{};
  });
  out.envelope = fed ? reader.finish() : Result<ListEnvelope>(pass(fed));
  return out;
}

TEST(ListReader, CutsAJsonListAndKeepsItsEnvelope) {
  const Read got = read(Encoding::json, R"({"kind":"PodList","apiVersion":"v1",)"
                                        R"("metadata":{"resourceVersion":"7","continue":"next"},)"
                                        R"("items":[{"a":1},{"b":"]}"}]})");
  ASSERT_TRUE(got.envelope) << got.envelope.error().to_string();
  EXPECT_THAT(got.items, ElementsAre(R"({"a":1})", R"({"b":"]}"})"));
  EXPECT_EQ(got.envelope->kind, "PodList");
  EXPECT_EQ(got.envelope->resource_version, 7u);
  EXPECT_EQ(got.envelope->continue_token, "next");
}

TEST(ListReader, CutsAProtobufList) {
  const Read got =
      read(Encoding::protobuf, proto_list("PodList", "7", "next", {"one", "", "three"}));
  ASSERT_TRUE(got.envelope) << got.envelope.error().to_string();
  EXPECT_THAT(got.items, ElementsAre("one", "", "three"));
  EXPECT_EQ(got.envelope->api_version, "v1");
  EXPECT_EQ(got.envelope->kind, "PodList");
  EXPECT_EQ(got.envelope->resource_version, 7u);
  EXPECT_EQ(got.envelope->continue_token, "next");
}

TEST(ListReader, AnEmptyProtobufListIsComplete) {
  const Read got = read(Encoding::protobuf, proto_list("PodList", "7", "", {}));
  ASSERT_TRUE(got.envelope) << got.envelope.error().to_string();
  EXPECT_TRUE(got.items.empty());
  EXPECT_TRUE(got.envelope->continue_token.empty());
}

TEST(ListReader, EveryTruncationIsNoticed) {
  const std::string whole = proto_list("PodList", "7", "", {"one", "two"});
  // What follows the list itself (content type and encoding) may be missing: it is not needed.
  const std::size_t needed = whole.size() - proto_trailer().size();
  for (std::size_t n = 0; n < needed; ++n) {
    EXPECT_FALSE(read(Encoding::protobuf, whole.substr(0, n)).envelope) << n;
  }
  EXPECT_TRUE(read(Encoding::protobuf, whole.substr(0, needed)).envelope);
  EXPECT_FALSE(read(Encoding::protobuf, whole.substr(0, needed + 1)).envelope) << "half a field";
}

TEST(ListReader, RefusesWhatIsNoProtobufList) {
  EXPECT_FALSE(read(Encoding::protobuf, "{\"kind\":\"PodList\"}").envelope);
  EXPECT_FALSE(read(Encoding::protobuf, std::string("k8s\0\x07", 5)).envelope) << "wire type 7";
  EXPECT_FALSE(read(Encoding::protobuf, std::string("k8s\0\x00\x01", 6)).envelope) << "field 0";
  EXPECT_FALSE(
      read(Encoding::protobuf, std::string(kProtobufMagic) + std::string(11, '\xff')).envelope)
      << "an endless number";
}

TEST(ListReader, AnItemDoesNotReachBehindTheListThatHoldsIt) {
  const std::string list = proto_bytes(1, proto_bytes(2, "7")) + "\x12\x09" + "abc";
  const Read got = read(Encoding::protobuf,
                        std::string(kProtobufMagic) + proto_bytes(2, list) + std::string(20, 'x'));
  EXPECT_FALSE(got.envelope);
  EXPECT_TRUE(got.items.empty());
}

TEST(ListReader, RefusesAnItemThatIsTooLargeBeforeItHasArrived) {
  std::string head(kProtobufMagic);
  head += "\x12" + proto_varint(1u << 30) + "\x12" + proto_varint(wire::kMaxMessageBytes + 1);
  const Read got = read(Encoding::protobuf, head);
  ASSERT_FALSE(got.envelope);
  EXPECT_EQ(got.envelope.error().code, Code::exhausted);
  EXPECT_THAT(got.envelope.error().message, HasSubstr("16777217"));
}

TEST(ListReader, AnErrorOfTheVisitorEndsIt) {
  ListReader reader(Encoding::protobuf);
  const auto fed =
      reader.feed(proto_list("PodList", "7", "", {"one", "two"}),
                  [](std::string_view) -> Result<> { return fail(Code::stopped, "x"); });
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().code, Code::stopped);
}

}  // namespace
}  // namespace berth::kube
