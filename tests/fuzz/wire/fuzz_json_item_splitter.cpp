// Items do not depend on how the document is cut. Where a whole parser takes the document as a list
// of objects, items and envelope are that document.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include "check.h"
#include "wire/splitters.h"
#include "wire/value.h"

namespace {

using namespace berth;

// A key that is written with escapes is not recognised as "items", and of two fields with one name
// the parser keeps the last: such documents are no use as an oracle.
bool is_plain_list(std::string_view bytes, const wire::Value& document) {
  const wire::Object* object = document.if_object();
  if (object == nullptr || bytes.find('\\') != bytes.npos) return false;
  const wire::Value* items = object->if_contains("items");
  if (items == nullptr || !items->is_array()) return false;
  for (const wire::Value& item : items->get_array()) {
    if (!item.is_object()) return false;
  }
  const auto first = bytes.find("\"items\"");
  return bytes.find("\"items\"", first + 1) == bytes.npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::as_text(data + 1, size - 1);
  wire::JsonItemSplitter whole, chunked;
  const auto expected = fuzz::feed_whole(whole, bytes);
  const auto actual = fuzz::feed_in_chunks(chunked, bytes, data[0]);
  fuzz::check(expected.ok == actual.ok, "the outcome does not depend on chunks");
  fuzz::check(expected.messages == actual.messages, "items do not depend on chunks");
  auto envelope = chunked.finish();
  if (actual.ok) {
    auto other = whole.finish();
    fuzz::check(other.has_value() == envelope.has_value(), "the end does not depend on chunks");
    fuzz::check(!other || *other == *envelope, "the envelope does not depend on chunks");
  }
  auto document = wire::parse_json(bytes);
  if (!document || !is_plain_list(bytes, *document)) return 0;
  fuzz::check(actual.ok && envelope.has_value(), "a list is taken");
  wire::Array items;
  for (const auto& item : actual.messages) items.push_back(wire::parse_json(item).value());
  wire::Object again = wire::parse_json(*envelope).value().get_object();
  again["items"] = items;
  fuzz::check(wire::Value(again) == *document, "items and envelope are the document");
  return 0;
}
