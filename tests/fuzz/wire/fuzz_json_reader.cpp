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

wire::Value built(wire::JsonNode node) {
  if (node.is_null()) return nullptr;
  if (node.is_string()) return wire::Value(node.string());
  if (node.is_object()) {
    wire::Object object;
    node.fields([&](std::string_view key, wire::JsonNode value) {
      object.insert_or_assign(key, built(value));
    });
    return object;
  }
  if (node.is_array()) {
    wire::Array array;
    node.items([&](wire::JsonNode item) { array.push_back(built(item)); });
    return array;
  }
  // Numbers and booleans; the raw text is left to the strict parser.
  return wire::parse_json(node.raw()).value_or(wire::Value("not a value"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  static wire::JsonReader reader;
  wire::Object walked;
  const bool read =
      reader
          .read(text, [&](std::string_view key,
                          wire::JsonNode value) { walked.insert_or_assign(key, built(value)); })
          .has_value();
  const bool skipped = reader.read(text, [](std::string_view, wire::JsonNode) {}).has_value();
  const auto strict = wire::parse_json(text);
  if (strict && strict->is_object()) {
    fuzz::check(skipped, "an object can be passed over");
    // The strict parser lets one level more pass when it is empty.
    fuzz::check(!read || wire::Value(walked) == *strict, "both read the same");
  }
  if (read && !strict) {
    const std::string again = wire::to_json(walked);
    fuzz::check(again.find("not a value") != again.npos, "the strict parser takes it too");
  }
  return 0;
}
