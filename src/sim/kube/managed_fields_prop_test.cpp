// Laws of server-side apply, over random configurations with keyed lists, sets and maps.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/json.hpp>

#include "sim/kube/managed_entries.h"
#include "sim/kube/managed_fields.h"
#include "wire/test_values.h"

namespace berth::sim::kube {
namespace {

using wire::pick;

ServedKind pods() {
  const Kinds kinds;
  const KindPtr pod = kinds.find({"", "pods"});
  return {pod, &pod->versions.front()};
}

wire::Value generated_configuration() {
  wire::Object metadata{{"name", "p"}};
  wire::Object spec;
  const auto label = [] { return std::string(1, static_cast<char>('a' + pick(3))); };
  wire::Object labels;
  for (int i = pick(3); i > 0; --i) labels[label()] = label();
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  wire::Array finalizers;
  for (char c = 'a'; c < 'd'; ++c) {
    if (pick(2) == 0) finalizers.emplace_back(std::string_view(&c, 1));
  }
  if (!finalizers.empty()) metadata["finalizers"] = std::move(finalizers);
  wire::Array containers;
  for (char c = 'a'; c < 'd'; ++c) {
    if (pick(2) == 0) continue;
    wire::Object container{{"name", std::string_view(&c, 1)}};
    if (pick(2) == 0) container["image"] = label();
    if (pick(2) == 0) container["args"] = wire::Array{wire::Value(label())};
    if (pick(2) == 0) container["ports"] = wire::Array{wire::Object{{"containerPort", pick(2)}}};
    containers.push_back(std::move(container));
  }
  if (!containers.empty()) spec["containers"] = std::move(containers);
  if (pick(2) == 0) spec["nodeSelector"] = wire::Object{{label(), label()}};
  return wire::Object{
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", metadata}, {"spec", spec}};
}

wire::Value applied(const wire::Value* live, const wire::Value& configuration,
                    std::string_view manager, std::int64_t time = 0) {
  const ServedKind served = pods();
  const FieldWriter writer{.served = served,
                           .manager = std::string(manager),
                           .now = WallTime(std::chrono::seconds{time})};
  return apply_configuration(live, configuration, writer, true).value();
}

wire::Value without_owners(wire::Value object) {
  object.as_object()["metadata"].as_object().erase("managedFields");
  return object;
}

RC_GTEST_PROP(ApplyLaws, TwiceIsOnce, ()) {
  const wire::Value base = applied(nullptr, generated_configuration(), "other");
  const wire::Value configuration = generated_configuration();
  const wire::Value once = applied(&base, configuration, "one", 1);
  RC_ASSERT(applied(&once, configuration, "one", 2) == once);
}

RC_GTEST_PROP(ApplyLaws, WhatIsAppliedIsThereAndOwned, ()) {
  const wire::Value base = applied(nullptr, generated_configuration(), "other");
  const wire::Value configuration = generated_configuration();
  const wire::Value next = applied(&base, configuration, "one");
  // Nothing of the configuration is missing: applied by a third, it changes nothing.
  RC_ASSERT(without_owners(applied(&next, configuration, "three")) == without_owners(next));
}

RC_GTEST_PROP(ApplyLaws, ALoneManagerDeterminesTheObject, ()) {
  const wire::Value first = applied(nullptr, generated_configuration(), "one");
  const wire::Value configuration = generated_configuration();
  const wire::Value second = applied(&first, configuration, "one");
  const auto entries = decode_entries(*managed_list(&second)).value_or(ManagedEntries{});
  RC_ASSERT(entries.size() <= 1u);
  // No field of the first configuration is left that is not in the second.
  const wire::Value fresh = applied(nullptr, configuration, "one");
  const wire::Value* old_list = managed_list(&fresh);
  RC_ASSERT((old_list == nullptr ? 0u : decode_entries(*old_list)->size()) == entries.size());
  if (!entries.empty()) RC_ASSERT(decode_entries(*old_list)->at(0).fields == entries[0].fields);
}

RC_GTEST_PROP(ApplyLaws, AnUpdateOwnsExactlyWhatItChanged, ()) {
  const ServedKind served = pods();
  const wire::Value base = applied(nullptr, generated_configuration(), "one");
  wire::Value next = without_owners(applied(&base, generated_configuration(), "two"));
  track_update(&base, next, {.served = served, .manager = "three"});
  wire::Value again = next;
  track_update(&next, again, {.served = served, .manager = "four"});
  RC_ASSERT(again == next);
}

}  // namespace
}  // namespace berth::sim::kube
