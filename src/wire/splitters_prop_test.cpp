#include "wire/splitters.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wire/test_values.h"

namespace berth::wire {
namespace {

// Feeds the text in chunks of random sizes.
template <class Splitter>
std::vector<std::string> split(Splitter& splitter, std::string_view text) {
  std::vector<std::string> messages;
  const auto visit = [&](std::string_view message) -> Result<> {
    messages.emplace_back(message);
    return {};
  };
  while (!text.empty()) {
    const auto size = std::min(static_cast<std::size_t>(pick(20)) + 1, text.size());
    RC_ASSERT(splitter.feed(text.substr(0, size), visit).has_value());
    text.remove_prefix(size);
  }
  return messages;
}

std::vector<std::string> generated_objects() {
  std::vector<std::string> texts(static_cast<std::size_t>(pick(5)));
  for (std::string& text : texts) text = to_json(Object{{"k", generated_value()}});
  return texts;
}

RC_GTEST_PROP(SplitterProperties, LinesComeBackWhateverTheChunks, ()) {
  const auto lines = generated_objects();
  std::string stream;
  for (const std::string& line : lines)
    stream += line + *rc::gen::element<std::string>("\n", "\n\n");
  LineSplitter splitter;
  RC_ASSERT(split(splitter, stream) == lines);
  RC_ASSERT(splitter.finish().has_value());
}

RC_GTEST_PROP(SplitterProperties, FramesComeBackWhateverTheChunks, ()) {
  const auto frames = *rc::gen::arbitrary<std::vector<std::string>>();
  std::string stream;
  for (const std::string& frame : frames) {
    stream += {0, 0, static_cast<char>(frame.size() >> 8), static_cast<char>(frame.size())};
    stream += frame;
  }
  LengthSplitter splitter;
  RC_ASSERT(split(splitter, stream) == frames);
  RC_ASSERT(splitter.finish().has_value());
}

RC_GTEST_PROP(SplitterProperties, ItemsComeBackWhateverTheChunks, ()) {
  const auto items = generated_objects();
  Object envelope;
  for (const auto& [key, name] : {std::pair("kind", "before"), std::pair("metadata", "after")}) {
    envelope[key] = Object{{name, generated_value()}};
  }
  const std::string space = *rc::gen::element<std::string>("", " ", "\n\t");
  std::string list = "{\"kind\":" + to_json(envelope["kind"]) + ",\"items\"" + space + ":[" + space;
  for (std::size_t i = 0; i < items.size(); ++i) list += (i == 0 ? "" : "," + space) + items[i];
  list += space + "]," + space + "\"metadata\":" + to_json(envelope["metadata"]) + "}" + space;
  JsonItemSplitter splitter;
  RC_ASSERT(split(splitter, list) == items);
  RC_ASSERT(parse_json(splitter.finish().value()).value() == Value(envelope));
}

}  // namespace
}  // namespace berth::wire
