#include "claims/claim_patch.h"

#include <boost/json.hpp>

#include "api/keys.h"
#include "api/walkers.h"

namespace berth::claims {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

std::string annotation_pointer(std::string_view key) {
  return "/metadata/annotations/" + wire::escape_pointer_step(key);
}
std::string label_pointer(std::string_view key) {
  return "/metadata/labels/" + wire::escape_pointer_step(key);
}

Object test(std::string path, Value value) {
  return {{"op", "test"}, {"path", std::move(path)}, {"value", std::move(value)}};
}
// Replaces as well; does not ask whether the member is there.
Object put(std::string path, Value value) {
  return {{"op", "add"}, {"path", std::move(path)}, {"value", std::move(value)}};
}

// A test for an absent member does not exist in JSON Patch, but `test` against null fails where it
// is present: kube-apiserver takes a missing value for null.
Object test_not_deleting() { return test("/metadata/deletionTimestamp", nullptr); }

void put_source(const api::Listener& listener, const kube::ObjectKey& source, Array& patch) {
  const std::pair<std::string_view, std::string> labels[] = {
      {api::kSourceNamespaceLabel, api::label_value(source.ns)},
      {api::kSourceNameLabel, api::label_value(source.name)}};
  for (const auto& [key, value] : labels) {
    const bool there = kube::has(listener.meta.labels, key);
    if (!source.name.empty()) {
      patch.push_back(put(label_pointer(key), Value(value)));
    } else if (there) {
      patch.push_back(Object{{"op", "remove"}, {"path", label_pointer(key)}});
    }
  }
}

}  // namespace

Array claim_patch(std::string_view expected, std::string_view claim) {
  const std::string path = annotation_pointer(ledger::kClaimAnnotation);
  return {test_not_deleting(), test(path, Value(expected)), put(path, Value(claim))};
}

Array change_patch(const api::Listener& listener, const ListenerChange& change) {
  Array patch;
  if (kube::has(listener.meta.annotations, ledger::kClaimAnnotation)) {
    const std::string path = annotation_pointer(ledger::kClaimAnnotation);
    patch.push_back(test(path, Value(claim_text(listener))));
    if (change.claim) patch.push_back(put(path, Value(*change.claim)));
  } else if (change.claim) {
    // Somebody took it off. Missing and null are the same to the server's test.
    const std::string path = annotation_pointer(ledger::kClaimAnnotation);
    patch.push_back(test(path, nullptr));
    patch.push_back(put(path, Value(*change.claim)));
  }
  if (change.spec) {
    patch.push_back(test("/spec", api::encode(listener.spec)));
    patch.push_back(put("/spec", api::encode(*change.spec)));
    const std::string applied = annotation_pointer(kAppliedAnnotation);
    const std::string still = still_applied(listener, *change.spec);
    // The spec may have been another one meanwhile, and be this one again.
    if (!still.empty())
      patch.push_back(
          test(applied, Value(kube::get(listener.meta.annotations, kAppliedAnnotation))));
    patch.push_back(put(applied, Value(still)));
    patch.push_back(put("/status/status", Value(api::kNotSynced)));
  }
  if (change.source) put_source(listener, *change.source, patch);
  return patch;
}

}  // namespace berth::claims
