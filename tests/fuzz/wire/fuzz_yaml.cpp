// What can be read can be written and reads back the same, through YAML and through JSON.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "check.h"
#include "wire/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const auto documents = wire::parse_yaml_documents(fuzz::as_text(data, size));
  if (!documents) return 0;
  for (const wire::Value& document : *documents) {
    // Written once, numbers and text that was not UTF-8 have the form that stays.
    const std::string json = wire::to_json(document);
    const auto value = wire::parse_json(json);
    fuzz::check(value.has_value(), "JSON of it can be read");
    const auto again = wire::parse_yaml(wire::to_yaml(*value));
    fuzz::check(again.has_value(), "YAML of it can be read");
    fuzz::check(wire::to_json(*again) == wire::to_json(*value), "and is the same");
  }
  return 0;
}
