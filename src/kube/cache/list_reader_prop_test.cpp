// However a list is cut into chunks, the same items come out; whatever the bytes are, nothing
// breaks.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "kube/cache/list_reader.h"
#include "kube/client/test_proto_writer.h"

namespace berth::kube {
namespace {

struct Outcome {
  std::vector<std::string> items{};
  std::string end{};
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome read(Encoding encoding, std::string_view text, const std::vector<std::size_t>& cuts) {
  Outcome out;
  ListReader reader(encoding);
  const auto feed = [&](std::string_view chunk) {
    auto fed = reader.feed(chunk, [&](std::string_view item) {
      out.items.emplace_back(item);
      return Result<>{};
    });
    if (!fed) out.end = fed.error().to_string();
    return fed.has_value();
  };
  for (const std::size_t cut : cuts) {
    const std::size_t length = std::min(cut, text.size());
    if (!feed(std::string(text.substr(0, length)))) return out;
    text.remove_prefix(length);
  }
  if (!feed(std::string(text))) return out;
  auto envelope = reader.finish();
  out.end = envelope ? fmt::format("{} {} {}", envelope->kind, envelope->resource_version,
                                   envelope->continue_token)
                     : envelope.error().to_string();
  return out;
}

std::vector<std::size_t> cuts() {
  return *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 40));
}

RC_GTEST_PROP(ListReaderProperty, ProtobufListsDoNotDependOnChunkBorders, ()) {
  const auto items = *rc::gen::arbitrary<std::vector<std::string>>();
  const std::string text = proto_list("PodList", "7", "token", items);
  const Outcome whole = read(Encoding::protobuf, text, {});
  RC_ASSERT(whole.items == items);
  RC_ASSERT(whole.end == "PodList 7 token");
  RC_ASSERT(read(Encoding::protobuf, text, cuts()) == whole);
}

RC_GTEST_PROP(ListReaderProperty, JsonListsDoNotDependOnChunkBorders, ()) {
  std::string items;
  for (const int number : *rc::gen::arbitrary<std::vector<int>>()) {
    if (!items.empty()) items += ", ";
    items += fmt::format("{{\"n\": {}, \"s\": \"}}]\\\"\\\\{}\"}}", number, number);
  }
  const std::string text = "{\"kind\":\"PodList\",\"items\":[" + items +
                           "],\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"token\"}}";
  const Outcome whole = read(Encoding::json, text, {});
  RC_ASSERT(whole.end == "PodList 7 token");
  RC_ASSERT(read(Encoding::json, text, cuts()) == whole);
}

RC_GTEST_PROP(ListReaderProperty, DamagedProtobufListsEndTheSameWayOnAllChunkBorders, ()) {
  std::string text = proto_list("PodList", "7", "", {"one", "two", "three"});
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = *rc::gen::arbitrary<char>();
  RC_ASSERT(read(Encoding::protobuf, text, cuts()) == read(Encoding::protobuf, text, {}));
}

}  // namespace
}  // namespace berth::kube
