#include "wire/yaml.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wire/test_values.h"

namespace berth::wire {
namespace {

RC_GTEST_PROP(JsonProperties, WrittenTextReadsBack, ()) {
  const Value value = generated_value();
  RC_ASSERT(parse_json(to_json(value)).value() == value);
  RC_ASSERT(parse_json(to_pretty_json(value)).value() == value);
}

RC_GTEST_PROP(YamlProperties, WrittenTextReadsBack, ()) {
  const Value value = generated_value();
  const std::string yaml = to_yaml(value);
  RC_LOG(yaml);
  const auto again = parse_yaml(yaml);
  if (!again) RC_FAIL(again.error().to_string());
  RC_ASSERT(*again == value);
}

RC_GTEST_PROP(YamlProperties, AnyTextReadsBack, ()) {
  const Value value(Object{{"k", generated_text({})}, {generated_text({}), 1}});
  const std::string yaml = to_yaml(value);
  RC_LOG(yaml);
  RC_ASSERT(parse_yaml(yaml).value() == value);
}

RC_GTEST_PROP(YamlProperties, JsonIsYaml, ()) {
  const Value value(Object{{"k", generated_value()}});
  RC_ASSERT(parse_yaml(to_json(value)).value() == value);
}

}  // namespace
}  // namespace berth::wire
