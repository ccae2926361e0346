// What the reader takes when it reads every value, a strict parser takes too, and with the same
// content.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include "check.h"
#include "wire/json_reader.h"
#include "wire/value.h"

namespace {

using namespace berth;

// `loose` when the text of a number or a boolean, which the reader does not check, is none: also of
// a field that comes a second time and is better then.
wire::Value built(wire::JsonNode node, bool& loose) {
  if (node.is_null()) return nullptr;
  if (node.is_string()) return wire::Value(node.string());
  if (node.is_object()) {
    wire::Object object;
    node.fields([&](std::string_view key, wire::JsonNode value) {
      object.insert_or_assign(key, built(value, loose));
    });
    return object;
  }
  if (node.is_array()) {
    wire::Array array;
    node.items([&](wire::JsonNode item) { array.push_back(built(item, loose)); });
    return array;
  }
  // Numbers and booleans; the raw text is left to the strict parser.
  const auto value = wire::parse_json(node.raw());
  if (!value) loose = true;
  return value.value_or(nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  static wire::JsonReader reader;
  wire::Object walked;
  bool loose = false;
  const bool read = reader
                        .read(text,
                              [&](std::string_view key, wire::JsonNode value) {
                                walked.insert_or_assign(key, built(value, loose));
                              })
                        .has_value();
  const bool skipped = reader.read(text, [](std::string_view, wire::JsonNode) {}).has_value();
  const auto strict = wire::parse_json(text);
  if (strict && strict->is_object()) {
    fuzz::check(skipped, "an object can be passed over");
    // The strict parser lets one level more pass when it is empty.
    fuzz::check(!read || wire::Value(walked) == *strict, "both read the same");
  }
  fuzz::check(!read || loose || strict, "the strict parser takes it too");
  return 0;
}
